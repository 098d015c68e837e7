import { Buffer } from 'node:buffer'
import { type Consumer, type KafkaClient, KafkaError, type KafkaRecord } from '@waybill/kafka'
import { type OffsetCommit } from '@waybill/kafka/internal'
import { expect, test } from 'vitest'
import { decodeCommitMetadata, encodeCommitMetadata } from '../../src/ledger/commit-metadata.ts'
import { Ledger, type LedgerState, ledgerStateAt } from '../../src/ledger/ledger.ts'

/** A cluster that remembers commits. */
export interface CommitWorld {
  readonly kafka: KafkaClient
  /** A topic of one partition, and a group, used by one test only. */
  readonly topic: string
  readonly groupId: string
}

async function pollAll(consumer: Consumer, count: number): Promise<KafkaRecord[]> {
  const records: KafkaRecord[] = []
  while (records.length < count) records.push(...(await consumer.poll(100, 1_000)))
  return records
}

/** Until it is acknowledged, as an engine does: a rebalance or a moved coordinator is no verdict. */
async function commit(consumer: Consumer, offset: OffsetCommit): Promise<void> {
  for (;;)
    try {
      return await consumer.commit([offset])
    } catch (error) {
      if (!(error instanceof KafkaError) || error.kind === 'FATAL' || error.kind === 'FENCED') throw error
    }
}

async function settleSome({ kafka, topic, groupId }: CommitWorld, settled: readonly bigint[]): Promise<LedgerState> {
  await using consumer = kafka.consumer({ groupId, topics: [topic] })
  await consumer.start()
  const records = await pollAll(consumer, 10)
  const ledger = new Ledger(ledgerStateAt(0n))
  for (const { offset } of records) ledger.fetched(offset)
  for (const offset of settled) ledger.settle(offset, offset === 4n ? 'DEAD' : 'OK')
  const state = ledger.state()
  const epoch = (records[0] as KafkaRecord).epoch
  await commit(consumer, { topic, partition: 0, offset: state.position, epoch, metadata: encodeCommitMetadata(state) })
  return state
}

/** Tests the ledger that a commit carries, on any cluster. */
export function testCommittedLedger(run: (program: (world: CommitWorld) => Promise<void>) => Promise<void>): void {
  test('D22 passes the settled offsets to the next owner of a partition, which repeats none of them', async () => {
    await run(async (world) => {
      const { kafka, topic, groupId } = world
      await using producer = kafka.producer('EVENT')
      for (let index = 0; index < 10; index++)
        await producer.send({ topic, partition: 0, key: null, value: Buffer.from(`${index}`) })
      const before = await settleSome(world, [0n, 1n, 4n, 5n, 9n])
      await using consumer = kafka.consumer({ groupId, topics: [topic] })
      await consumer.start()
      const records = await pollAll(consumer, 8)
      const [committed] = await consumer.committed([{ topic, partition: 0 }])
      const read = decodeCommitMetadata(committed ?? { offset: null, metadata: null })
      if ('problem' in read) throw new Error(read.problem)
      expect({ ...read.source, settledAbove: [...read.source.settledAbove] }).toEqual({
        ...before,
        settledAbove: [4n, 5n, 9n],
      })
      const ledger = new Ledger(read.source)
      const again = records.filter(({ offset }) => ledger.fetched(offset)).map(({ offset }) => offset)
      expect(again).toEqual([2n, 3n, 6n, 7n, 8n])
      for (const offset of again) ledger.settle(offset, 'OK')
      expect(ledger.state()).toMatchObject({ position: 10n, counts: { ok: 9n, dead: 1n, holes: 0n } })
    })
  })

  test('accepts the longest metadata that the default limits lead to', async () => {
    await run(async ({ kafka, topic, groupId }) => {
      await using producer = kafka.producer('EVENT')
      await producer.send({ topic, partition: 0, key: null, value: null })
      await using consumer = kafka.consumer({ groupId, topics: [topic] })
      await consumer.start()
      const [record] = await pollAll(consumer, 1)
      const metadata = `wb1 ${'x'.repeat(1_300)}`
      await commit(consumer, { topic, partition: 0, offset: 0n, epoch: (record as KafkaRecord).epoch, metadata })
      expect(await consumer.committed([{ topic, partition: 0 }])).toMatchObject([{ offset: 0n, metadata }])
    })
  })
}
