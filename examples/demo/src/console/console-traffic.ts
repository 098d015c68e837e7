import { setTimeout as sleep } from 'node:timers/promises'
import type { KafkaClient } from '@waybill/kafka'
import type { Dependencies } from './console-bindings.ts'
import type { Order } from './console-events.ts'
import { topics } from './console-events.ts'

const roundMs = 250
const ordersPerRound = 3
/** The service that checks for fraud is away for a part of each period. */
const fraudPeriodMs = 120_000
const fraudAwayMs = 30_000

/** Writes an order in a transaction, with its event. */
export type PlaceOrder = (order: Order) => Promise<void>

/** Places orders, writes invoices, and takes a service away now and then, until the signal aborts. */
export async function runTraffic(
  kafka: KafkaClient,
  place: PlaceOrder,
  dependencies: Dependencies,
  signal: AbortSignal,
): Promise<void> {
  await using producer = kafka.producer('EVENT')
  const startedAt = performance.now()
  for (let round = 0; !signal.aborted; round++) {
    for (let at = 0; at < ordersPerRound; at++) await place(orderOf(round * ordersPerRound + at))
    if (round % 4 === 0)
      await producer.send({
        topic: topics.invoices,
        key: Buffer.from(`i-${round}`),
        value: Buffer.from('{"cents":4200}'),
      })
    dependencies.isFraudCheckUp = (performance.now() - startedAt) % fraudPeriodMs > fraudAwayMs
    await sleep(roundMs, undefined, { signal }).catch(() => {})
  }
}

/** Returns an order: most carriers answer. The first ones are those that do not, so that there is something to look at. */
export function orderOf(number: number): Order {
  return {
    orderId: `o-${String(number).padStart(5, '0')}`,
    customer: `c-${number % 97}`,
    cents: 990 + ((number * 37) % 9_000),
    carrier: number < 24 ? (number % 2 === 0 ? 'NONE' : 'FLAKY') : carrierOf(number),
  }
}

function carrierOf(number: number): Order['carrier'] {
  if (number % 211 === 0) return 'NONE'
  if (number % 53 === 0) return 'AWAY'
  return number % 17 === 0 ? 'FLAKY' : 'GOOD'
}

/** Writes records that a handler or a decoder refuses: a payload of another shape, and a key that stays blocked. */
export async function writeBrokenRecords(kafka: KafkaClient): Promise<void> {
  await using producer = kafka.producer('EVENT')
  for (let at = 0; at < 9; at++)
    await producer.send({
      topic: topics.orders,
      key: Buffer.from(`web-${at}`),
      value: Buffer.from(`{"orderId":"web-${at}","customer":"c-1","cents":19.99,"carrier":"GOOD"}`),
      headers: [
        ['eventType', Buffer.from('order.placed')],
        ['id', Buffer.from(`01KD0WEB00000000000000000${at}`)],
      ],
    })
  for (let at = 0; at < 12; at++)
    await producer.send({
      topic: topics.stock,
      key: Buffer.from('teapot'),
      value: Buffer.from(`{"item":"teapot","pieces":${at === 0 ? -4 : at}}`),
    })
}
