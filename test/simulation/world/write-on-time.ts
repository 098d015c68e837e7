import type { OutRecord } from '@waybill/kafka'
import type { VirtualRuntime } from '@waybill/sim'
import type { Station } from './cluster-world.ts'

/** Delay before a failed write is retried. */
const againMs = 1_000

/**
 * Writes the plans at their times, each until it is confirmed: an unconfirmed write may be there twice.
 *
 * @param recordOf - called when it is time
 */
export async function writeOnTime<T extends { readonly atMs: number }>(
  runtime: VirtualRuntime,
  { client }: Station,
  plans: readonly T[],
  recordOf: (plan: T) => OutRecord,
): Promise<void> {
  const producer = client.producer('EVENT', { lingerMs: 0 })
  const startedAt = runtime.clock.monotonic()
  const writes: Promise<void>[] = []
  for (const plan of plans) {
    const waitMs = startedAt + plan.atMs - runtime.clock.monotonic()
    if (waitMs > 0) await runtime.timers.sleep(waitMs)
    writes.push(untilWritten(producer, recordOf(plan), runtime))
  }
  await Promise.all(writes)
  await client.close()
}

async function untilWritten(
  producer: ReturnType<Station['client']['producer']>,
  record: OutRecord,
  { timers }: VirtualRuntime,
): Promise<void> {
  for (;;) {
    try {
      await producer.send(record)
      return
    } catch {
      await timers.sleep(againMs)
    }
  }
}
