import type { RebuildOptions } from '@waybill/projection'
import type { VirtualRuntime } from '@waybill/sim'
import type { Draw } from '../draw.ts'
import type { LedgerLog } from './ledger.ts'

/** Returns a client of a broker whose answers take time, now and then longer than the lease of a worker. */
export function ledgerBroker(log: LedgerLog, draw: Draw, { timers }: VirtualRuntime): RebuildOptions['kafka'] {
  const topic = 'credits'
  const answer = async <T>(value: () => T): Promise<T> => {
    await timers.sleep(draw.chance(0.002) ? 40_000 : draw.chance(0.1) ? draw.integer(0, 2_000) : draw.integer(0, 5))
    return value()
  }
  const partitions = () => log.partitions.map((_, partition) => ({ topic, partition }))
  const client = {
    admin: {
      describeTopics: () => answer(() => [{ topic, outcome: 'DONE', partitions: partitions() }]),
      describeConfigs: () => answer(() => [{ topic, outcome: 'DONE', configs: new Map() }]),
      listOffsets: (_: unknown, which: string) =>
        answer(() =>
          log.partitions.map(({ end }, partition) => ({
            topic,
            partition,
            outcome: 'DONE',
            offset: which === 'EARLIEST' ? 0n : BigInt(end),
          })),
        ),
    },
    reader: ([range]: readonly { readonly partition: number; readonly from: bigint; readonly until: bigint }[]) => {
      if (range === undefined) throw new RangeError('There is nothing to read')
      let at = Number(range.from)
      return {
        next: (most: number) =>
          answer(() => {
            const read = log.read(range.partition, at, Number(range.until), Math.min(most, 25))
            at = Number(read.at(-1)?.offset ?? range.until) + 1
            return read.length === 0 ? undefined : read
          }),
        close: async () => {},
      }
    },
  }
  return client as never
}
