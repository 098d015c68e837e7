import { applicationOperator, defineEvents, encodeEvent } from '@waybill/core'
import type { KafkaRecord } from '@waybill/kafka'
import { beforeEach, expect, test } from 'vitest'
import { z } from 'zod'
import { defineProjection } from '../../src/definition/define-projection.ts'
import type { AnyProjection } from '../../src/definition/projection.ts'
import { createMemoryProjectionStore, type MemoryProjectionStore } from '../../src/memory/memory-projection-store.ts'
import { createProjector } from '../../src/projector/create-projector.ts'
import { tableOf } from '../../src/projector/live-build.ts'
import { createQuarantine } from '../../src/quarantine/create-quarantine.ts'
import { auditedRebuild, type Rebuild } from '../../src/rebuild/create-rebuild.ts'
import { type RebuildOptions, resolveRebuildOptions } from '../../src/rebuild/rebuild-options.ts'
import { type RebuildStatus, TableRebuild } from '../../src/rebuild/table-rebuild.ts'
import { balances, balancesByPosition } from '../test-accounts.ts'
import { history, recordOf, strangeRecord } from '../test-records.ts'
import { hastyClock, hastyRuntime, TestLog } from './test-log.ts'

const operator = applicationOperator()
let store: MemoryProjectionStore
let log: TestLog

beforeEach(() => {
  store = createMemoryProjectionStore({ clock: hastyClock })
  log = new TestLog(1)
})

function rebuildOf(projection: AnyProjection, options: Partial<RebuildOptions> = {}): Rebuild {
  const resolved = resolveRebuildOptions({
    store,
    kafka: { reader: () => {} } as never,
    runtime: hastyRuntime(),
    switch: 'WHEN_READY',
    ...options,
  })
  return auditedRebuild(new TableRebuild(projection as never, resolved, log), projection.name, resolved)
}

async function finish(rebuild: Rebuild): Promise<RebuildStatus> {
  let last: RebuildStatus | undefined
  for await (const status of rebuild.run(operator)) last = status
  return last as RebuildStatus
}

for (const projection of [balances, balancesByPosition])
  test(`a topic that was created again is rebuilt from, although the live table was further on (${projection.versions})`, async () => {
    const projector = createProjector(projection, { store })
    for (const record of await history('a', [1, 2, 3])) log.append(0, record)
    while ((await log.deliver(projector)) > 0);
    log.partitionsOfTopic[0] = []
    for (const record of await history('b', [7])) log.append(0, record)
    await expect(finish(rebuildOf(projection, { again: true }))).rejects.toThrow(/differ from the live table/)
    expect(await finish(rebuildOf(projection, { again: true, verify: 0 }))).toMatchObject({ state: 'LIVE', build: 3 })
    expect(store.find(projection.name, 'a')).toBeUndefined()
    expect(store.find(projection.name, 'b')).toMatchObject({ balance: '7' })
    expect(await store.positions({ projection: projection.name, number: 3 })).toMatchObject([{ next: 2n }])
  })

const counted = defineEvents({
  Credited: { topic: 'accounts', schema: z.object({ id: z.string() }), key: ({ id }) => id },
  Viewed: { topic: 'views', schema: z.object({ id: z.string() }), key: ({ id }) => id },
})
const credited = defineEvents({
  Credited: { topic: 'accounts', schema: z.object({ id: z.string() }), key: ({ id }) => id },
})
const head = {
  name: 'counts',
  state: z.object({ credits: z.number() }),
  columns: { credits: 'integer' },
  versions: 'POSITION',
} as const
const both = defineProjection({ ...head, events: counted }).on({
  Credited: (state) => ({ credits: (state?.credits ?? 0) + 1 }),
  Viewed: (state) => ({ credits: (state?.credits ?? 0) + 100 }),
})
const one = defineProjection({ ...head, revision: 2, events: credited }).on({
  Credited: (state) => ({ credits: (state?.credits ?? 0) + 1 }),
})

/** Returns whether a live row has events of the topic that the new revision does not read. */
function includesViews(_: string, live: unknown): boolean {
  return (live as { credits: number }).credits >= 100
}

async function eventOf(name: 'Credited' | 'Viewed', id: string, offset: number): Promise<KafkaRecord> {
  const { key, value, headers } = counted.wireFormat.encode(await encodeEvent(counted, name, { id }))
  const topic = name === 'Credited' ? 'accounts' : 'views'
  return { topic, partition: 0, offset: BigInt(offset), timestamp: 0, epoch: 1, key, value, headers }
}

test('expectDifference decides about rows whose versions differ because the revision reads fewer topics', async () => {
  const credits = await Promise.all([0, 1, 2].map((offset) => eventOf('Credited', 'a', offset)))
  for (const record of credits) log.append(0, record)
  const live = createProjector(both, { store })
  await live.handleBatch(credits, undefined as never)
  await live.handleBatch([await eventOf('Viewed', 'a', 0), await eventOf('Viewed', 'b', 1)], undefined as never)
  await expect(finish(rebuildOf(one, { previous: [both] }))).rejects.toThrow(/2 rows differ/)
  const last = await finish(rebuildOf(one, { previous: [both], expectDifference: includesViews }))
  expect(last).toMatchObject({ state: 'LIVE', verification: { expected: 2, differences: [] } })
  expect(store.find('counts', 'a')).toEqual({ credits: 3 })
})

test('expectDifference does not excuse a row that misses an event of a topic that both revisions read', async () => {
  for (const record of await history('a', [1])) log.append(0, record)
  const projector = createProjector(balances, { store })
  await log.deliver(projector)
  // The live table has an event that the topic lacks.
  await store.transaction((tx) =>
    tx.write(tableOf(balances, 1), [
      { key: 'a', version: 3, state: { balance: '9', currency: 'EUR', status: 'OPENED' }, isQuarantined: false },
    ]),
  )
  const rebuild = rebuildOf(balances, { again: true, expectDifference: () => true })
  await expect(finish(rebuild)).rejects.toThrow(/1 rows differ/)
})

test('an accepted row is not in the topics: a rebuild excuses its key when told to, and it is accepted again', async () => {
  const [opened, , second, third] = await history('a', [1, 2, 3])
  for (const record of [opened, second, third]) log.append(0, record as KafkaRecord)
  const projector = createProjector(balances, { store, runtime: hastyRuntime() })
  await log.deliver(projector)
  const quarantine = createQuarantine(balances, { store })
  const row = { version: 4, state: { balance: '6', currency: 'EUR', status: 'OPENED' }, reason: 'lost' } as const
  await quarantine.accept('a', row, operator)
  await expect(finish(rebuildOf(balances, { again: true }))).rejects.toThrow(/"a" needs version 2, found 3/)
  expect(await finish(rebuildOf(balances, { again: true, maxQuarantined: 1 }))).toMatchObject({ state: 'LIVE' })
  expect(store.find('account_balance', 'a')).toMatchObject({ balance: '0' })
  expect(await quarantine.list({}, operator)).toMatchObject([{ key: 'a', expected: 2, found: 3, last: 4 }])
  await quarantine.accept('a', row, operator)
  expect(store.find('account_balance', 'a')).toMatchObject({ balance: '6' })
})

test('by position, events that the switch applies are not applied again, although the live table had them later', async () => {
  const projector = createProjector(balancesByPosition, { store })
  for (const record of await history('a', [1])) log.append(0, record)
  await log.deliver(projector)
  const rebuild = rebuildOf(balancesByPosition, { again: true, switch: 'BY_HAND' })
  expect(await finish(rebuild)).toMatchObject({ state: 'READY' })
  // No worker follows any more.
  for (const record of (await history('a', [2, 4])).slice(1)) log.append(0, record)
  await log.deliver(projector)
  await rebuild.switchNow(operator)
  expect(await store.positions({ projection: 'account_position', number: 2 })).toMatchObject([{ next: 4n }])
  await log.repeatAll(projector, 4)
  expect(store.find('account_position', 'a')).toMatchObject({ balance: '7' })
})

test('a key that another worker has quarantined meanwhile is read again, and the batch applied once', async () => {
  const [, second, third] = await history('a', [1, 2])
  for (const record of [second, third]) log.append(0, record as KafkaRecord)
  for (const record of await history('b', [5])) log.append(0, record)
  let isFirst = true
  const runtime = hastyRuntime(async (name) => {
    if (name !== 'rebuild.batch' || !isFirst) return
    isFirst = false
    await store.transaction((tx) =>
      tx.quarantine(tableOf(balances, 1), { key: 'a', reason: 'GAP', expected: 1, found: 2 }),
    )
  })
  const last = await finish(rebuildOf(balances, { runtime, maxQuarantined: 1 }))
  expect(last).toMatchObject({ state: 'LIVE', quarantined: 1, applied: 2 })
  expect(store.find('account_balance', 'b')).toMatchObject({ balance: '5' })
})

test('a rebuild fails if a single record that it has not read was removed', async () => {
  for (const record of await history('a', [1, 2])) log.append(0, record)
  const { name, revision, fingerprint } = balances
  await store.transaction(async (tx) => {
    await tx.lock(name, 'EXCLUSIVE')
    await tx.addBuild({ projection: name, number: 1, revision, fingerprint, state: 'CATCHING_UP' })
    await tx.advance({ projection: name, number: 1 }, [{ topic: 'accounts', partition: 0, next: 1n }])
  })
  log.starts = [2n]
  await expect(finish(rebuildOf(balances))).rejects.toThrow(/accounts-0 was cut at offset 2, and the rebuild was at 1/)
})

test('a rebuild from a history fails too if a record that it has not read was removed', async () => {
  for (const record of await history('a', [1, 2])) log.append(0, record)
  const { name, revision, fingerprint } = balances
  await store.transaction(async (tx) => {
    await tx.lock(name, 'EXCLUSIVE')
    await tx.addBuild({ projection: name, number: 1, revision, fingerprint, state: 'CATCHING_UP' })
    await tx.advance({ projection: name, number: 1 }, [{ topic: 'accounts', partition: 0, next: 1n }])
  })
  log.starts = [2n]
  const rebuild = rebuildOf(balances, { history: async function* () {} })
  await expect(finish(rebuild)).rejects.toThrow(/accounts-0 was cut at offset 2, and the rebuild was at 1/)
})

test('an event is applied, and is no gap, if another worker wrote the row that it was compared with', async () => {
  const [opened, first, second] = (await history('a', [1, 2])) as [KafkaRecord, KafkaRecord, KafkaRecord]
  for (const record of [opened, second]) log.append(0, record)
  const { name, revision, fingerprint } = balances
  const table = tableOf(balances, 1)
  const state = { balance: '0', currency: 'EUR', status: 'OPENED' }
  await store.transaction(async (tx) => {
    await tx.lock(name, 'EXCLUSIVE')
    await tx.addBuild({ projection: name, number: 1, revision, fingerprint, state: 'CATCHING_UP' })
    await tx.write(table, [{ key: 'a', version: 1, state, isQuarantined: false }])
    await tx.advance(table, [{ topic: 'accounts', partition: 0, next: 1n }])
  })
  let isFirst = true
  const runtime = hastyRuntime(async (point) => {
    if (point !== 'rebuild.batch' || !isFirst) return
    isFirst = false
    // Version 2 is in another partition.
    const row = { key: String(first.key), version: 2, state: { ...state, balance: '1' }, isQuarantined: false }
    await store.transaction((tx) => tx.write(table, [row]))
  })
  expect(await finish(rebuildOf(balances, { runtime }))).toMatchObject({ state: 'LIVE', quarantined: 0 })
  expect(store.find(name, 'a')).toEqual({ ...state, balance: '3' })
})

for (const projection of [balances, balancesByPosition])
  test(`records that became dead letters are left out, and those behind them are applied (${projection.versions})`, async () => {
    const [opened, first, second] = (await history('a', [1, 2])) as [KafkaRecord, KafkaRecord, KafkaRecord]
    for (const record of [opened, strangeRecord(0), first, strangeRecord(0), strangeRecord(0), second])
      log.append(0, record)
    // Its function throws.
    if (projection.versions === 'POSITION')
      log.append(0, await recordOf('FundsCredited', { accountId: 'a', amount: 'poison' }, undefined, 0))
    const version = projection.versions === 'AGGREGATE' ? 4 : undefined
    log.append(0, await recordOf('FundsCredited', { accountId: 'a', amount: '4' }, version, 0))
    const live = createProjector(projection, { store, runtime: hastyRuntime() })
    while ((await log.deliver(live)) > 0);
    expect(await finish(rebuildOf(projection, { again: true }))).toMatchObject({
      state: 'LIVE',
      quarantined: 0,
      verification: { rows: 1, differences: [] },
    })
    expect(store.find(projection.name, 'a')).toMatchObject({ balance: '7' })
  })
