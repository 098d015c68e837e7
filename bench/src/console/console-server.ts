import { createAdmin, createAdminServer } from '@waybill/admin'
import { createConnector } from '@waybill/connector'
import { createMetricsStore, noopLogger, runtimeWith } from '@waybill/core'
import { createKafkaClient } from '@waybill/kafka'
import { createSimCluster } from '@waybill/sim'

/** An admin server with its console. */
export interface ConsoleServer extends AsyncDisposable {
  /** With a final slash. */
  readonly url: string
}

/** Serves the console over one binding of a simulated cluster, on this machine. */
export async function startConsoleServer(): Promise<ConsoleServer> {
  const stack = new AsyncDisposableStack()
  const metrics = stack.use(createMetricsStore())
  const runtime = runtimeWith({ logger: noopLogger, metrics })
  const cluster = createSimCluster({ runtime })
  cluster.createTopic('orders', { partitions: 8 })
  const kafka = stack.use(
    createKafkaClient({ brokers: cluster.brokers, transport: cluster.transport('bench'), clientId: 'bench', runtime }),
  )
  const connector = createConnector({
    clusters: { default: kafka },
    runtime,
    bindings: { shipping: { topic: 'orders', groupId: 'shipping', handler: () => {} } },
  })
  stack.defer(() => connector.stop({ deadlineMs: 1_000 }))
  await connector.start()
  const admin = stack.use(createAdmin({ connector, clusters: { default: kafka }, metrics, runtime }))
  const server = stack.use(createAdminServer(admin, { port: 0 }))
  await server.start()
  return { url: `${server.url}/`, [Symbol.asyncDispose]: () => stack.disposeAsync() }
}
