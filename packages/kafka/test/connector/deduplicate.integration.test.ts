import { describeWith } from '@waybill/test-support'
import { testDeduplication } from './deduplicate-behaviour.ts'
import { inKafka } from './kafka-world.ts'

describeWith('kafka')('deduplicate on Apache Kafka', ({ kafka }) => testDeduplication(inKafka(kafka, 'deduplicate')))
