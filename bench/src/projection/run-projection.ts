/** Events per second into a read model on PostgreSQL, beside the same work by hand. */

import assert from 'node:assert/strict'
import { applicationOperator, noopLogger, runtimeWith } from '@waybill/core'
import type { KafkaRecord } from '@waybill/kafka'
import { createProjector, createRebuild } from '@waybill/projection'
import { createProjectionStore, fromPg } from '@waybill/sql'
import type { BenchOptions } from '../bench-options.ts'
import { compare } from '../statistics.ts'
import { projectBatch } from './by-hand.ts'
import { balances, ledgerRecords } from './ledger-events.ts'
import { logOf } from './ledger-log.ts'
import { LedgerTables } from './ledger-tables.ts'

const runtime = runtimeWith({ logger: noopLogger })
const liveBatch = 500
const rebuildBatch = 2_000
const singles = 1_500
/** Enough that the steps of a rebuild which do not depend on its size, under a second, do not decide. */
const rebuilt = 200_000
const lived = 50_000

type Contestant = 'LIVE' | 'REBUILD' | 'REPEATS' | 'HAND_500' | 'HAND_2000' | 'HAND_1'

/** The cases of the benchmark. */
const cases = [
  { name: 'live, 2,000 keys', contestant: 'LIVE', reference: 'HAND_500', called: 'by hand, batches of 500' },
  {
    name: 'live beside a transaction per event',
    contestant: 'LIVE',
    reference: 'HAND_1',
    called: 'by hand, one by one',
  },
  { name: 'rebuild, 2,000 keys', contestant: 'REBUILD', reference: 'HAND_2000', called: 'by hand, batches of 2,000' },
  { name: 'repeats beside new events', contestant: 'REPEATS', reference: 'LIVE', called: 'live' },
] as const

/** Runs the benchmark. */
export async function runProjectionBench({ rounds, only, progress, report }: BenchOptions): Promise<void> {
  const selected = cases.filter(({ name }) => name.includes(only))
  const contestants = new Set<Contestant>(selected.flatMap(({ contestant, reference }) => [contestant, reference]))
  const records = await ledgerRecords(rebuilt, 2_000)
  const rates = new Map<Contestant, number[]>([...contestants].map((one) => [one, []]))
  await using tables = await LedgerTables.create()
  for (let round = 0; round <= rounds; round++)
    for (const contestant of contestants) {
      progress(`round ${round} of ${rounds}, ${contestant}`)
      const perSecond = await run(contestant, tables, records)
      // The first round warms the code and the database.
      if (round > 0) rates.get(contestant)?.push(perSecond)
    }
  for (const { name, contestant, reference, called } of selected) {
    const names = { bench: 'projection', case: name, unit: 'events/s', reference: called }
    report(compare(names, rates.get(contestant) ?? [], rates.get(reference) ?? []))
  }
}

async function run(contestant: Contestant, tables: LedgerTables, all: readonly KafkaRecord[]): Promise<number> {
  await tables.empty()
  const records = all.slice(0, countFor(contestant))
  const store = createProjectionStore(fromPg(tables.pool))
  const projector = createProjector(balances, { store, runtime })
  const live = async (): Promise<void> => {
    for (let at = 0; at < records.length; at += liveBatch)
      await projector.handleBatch(records.slice(at, at + liveBatch), undefined as never)
  }
  if (contestant === 'REPEATS') await live()
  const startedAt = performance.now()
  switch (contestant) {
    case 'LIVE':
    case 'REPEATS':
      await live()
      break
    case 'REBUILD':
      for await (const _ of createRebuild(balances, {
        store,
        kafka: logOf(records, rebuildBatch),
        workers: 1,
        runtime,
      }).run(applicationOperator()));
      break
    case 'HAND_1':
    case 'HAND_500':
    case 'HAND_2000':
      await byHand(tables, records, Number(contestant.slice('HAND_'.length)))
  }
  const seconds = (performance.now() - startedAt) / 1_000
  const table = contestant.startsWith('HAND') ? 'reference_balance' : 'bench_balance_b1'
  assert.equal(await tables.sumOf(table), records.length, 'every event counts once')
  return records.length / seconds
}

function countFor(contestant: Contestant): number {
  if (contestant === 'HAND_1') return singles
  return contestant === 'REBUILD' || contestant === 'HAND_2000' ? rebuilt : lived
}

async function byHand(tables: LedgerTables, records: readonly KafkaRecord[], size: number): Promise<void> {
  const client = await tables.pool.connect()
  try {
    for (let at = 0; at < records.length; at += size) await projectBatch(client, records.slice(at, at + size))
  } finally {
    client.release()
  }
}
