import { systemRuntime } from '@waybill/core'
import { createBrokerTransport } from '@waybill/kafka/wire'
import { describeWith } from '@waybill/test-support'
import { test } from 'vitest'
import { consumerBehaviours } from './behaviour.ts'
import { TestCluster, type TestClusterPlace } from './test-cluster.ts'

describeWith('kafka')('a group consumer on Apache Kafka', ({ kafka }) => {
  let count = 0
  const place = (id: number): TestClusterPlace => ({
    runtime: systemRuntime,
    bootstrap: kafka.bootstrap.map((address) => {
      const [host = '', port = ''] = address.split(':')
      return { host, port: Number(port) }
    }),
    transport: () => createBrokerTransport(),
    named: (name) => kafka.named(`${id}.${name}`),
  })

  test.concurrent.each(consumerBehaviours)('$title', async ({ run }) => {
    await using cluster = new TestCluster(place(count++))
    await run(cluster)
  })
})
