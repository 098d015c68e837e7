import { describeWith } from '@waybill/test-support'
import { inKafka } from '../../support/kafka-world.ts'
import { testKeyOrder } from './key-order-behaviour.ts'

describeWith('kafka')('orderingMode KEY on Apache Kafka', ({ kafka }) => testKeyOrder(inKafka(kafka, 'key-order')))
