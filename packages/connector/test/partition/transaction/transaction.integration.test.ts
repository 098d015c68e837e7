import { systemRuntime } from '@waybill/core'
import { createBrokerTransport } from '@waybill/kafka/wire'
import { describeWith } from '@waybill/test-support'
import { testTransactions } from './transaction-behaviour.ts'

const transport = () => createBrokerTransport()

describeWith('kafka')('transactional bindings on Apache Kafka', ({ kafka }) => {
  let scenes = 0
  testTransactions(async (program) => {
    const scene = ++scenes
    const createTopic = (name: string, partitions: number): Promise<string> =>
      kafka.createTopic(`${name}-tx-${scene}`, { partitions })
    await program({ brokers: kafka.bootstrap, runtime: systemRuntime, transport, createTopic })
  })
})
