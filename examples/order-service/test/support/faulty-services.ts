import { createKafkaClient, type KafkaClient } from '@waybill/kafka'
import { createBrokerTransport } from '@waybill/kafka/wire'
import { createFaultProxy, type FaultProxy } from '@waybill/testkit'

/** An address behind a proxy that injects faults. */
export interface ProxiedAddress {
  readonly proxy: FaultProxy
  readonly url: string
}

/** Puts a proxy before a service. */
export async function proxied(url: string, usualPort: number): Promise<ProxiedAddress> {
  const target = new URL(url)
  const port = target.port === '' ? usualPort : Number(target.port)
  const proxy = createFaultProxy({ target: { host: target.hostname, port } })
  await proxy.start()
  target.hostname = proxy.host
  target.port = String(proxy.port)
  return { proxy, url: target.href }
}

/** Takes the service away: connections break, and new ones are refused. */
export function away(proxy: FaultProxy): void {
  proxy.refuse()
  proxy.cut()
}

/** Returns headers as they are sent. */
export function encoded(headers: Readonly<Record<string, string>>): [string, Buffer][] {
  return Object.entries(headers).map(([name, text]) => [name, Buffer.from(text)])
}

/** A client of Kafka whose every connection goes through a proxy. */
export interface KafkaBehindProxy {
  readonly client: KafkaClient
  readonly proxy: FaultProxy
  readonly dispose: () => Promise<void>
}

/** Puts a proxy before the broker. */
export async function kafkaBehindProxy(bootstrap: readonly string[]): Promise<KafkaBehindProxy> {
  const { hostname: host, port } = new URL(`tcp://${bootstrap[0]}`)
  const proxy = createFaultProxy({ target: { host, port: Number(port) } })
  await proxy.start()
  const direct = createBrokerTransport()
  const client = createKafkaClient({
    brokers: [...bootstrap],
    transport: { connect: (_node, ...rest) => direct.connect({ host: proxy.host, port: proxy.port }, ...rest) },
  })
  const dispose = async (): Promise<void> => {
    proxy.heal()
    await client.close()
    await proxy.stop()
  }
  return { client, proxy, dispose }
}
