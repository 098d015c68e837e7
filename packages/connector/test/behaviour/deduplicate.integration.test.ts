import { describeWith } from '@waybill/test-support'
import { inKafka } from '../support/kafka-world.ts'
import { testDeduplication } from './deduplicate-behaviour.ts'

describeWith('kafka')('deduplicate on Apache Kafka', ({ kafka }) => testDeduplication(inKafka(kafka, 'deduplicate')))
