/** Rebuilds while something else changes: the live table, the topics, the builds, or another process. */

import { setImmediate as nextTurn } from 'node:timers/promises'
import { applicationOperator, UnavailableError } from '@waybill/core'
import type { KafkaRecord } from '@waybill/kafka'
import { beforeEach, expect, test } from 'vitest'
import type { AnyProjection } from '../../src/definition/projection.ts'
import { ProjectionStateError } from '../../src/definition/projection-errors.ts'
import { createMemoryProjectionStore, type MemoryProjectionStore } from '../../src/memory/memory-projection-store.ts'
import { createProjector } from '../../src/projector/create-projector.ts'
import { tableOf } from '../../src/projector/live-build.ts'
import { createQuarantine } from '../../src/quarantine/create-quarantine.ts'
import { auditedRebuild, type Rebuild } from '../../src/rebuild/create-rebuild.ts'
import { type RebuildOptions, resolveRebuildOptions } from '../../src/rebuild/rebuild-options.ts'
import { type RebuildStatus, TableRebuild } from '../../src/rebuild/table-rebuild.ts'
import { balances, balancesByPosition } from '../test-accounts.ts'
import { history, recordOf } from '../test-records.ts'
import { hastyClock, hastyRuntime, TestLog } from './test-log.ts'

const operator = applicationOperator()
let store: MemoryProjectionStore
let log: TestLog
let onStep: (step: string) => void | Promise<void>

beforeEach(() => {
  onStep = () => {}
  store = createMemoryProjectionStore({ clock: hastyClock, pause: async (step) => onStep(step) })
  log = new TestLog(2)
})

function rebuildOf(projection: AnyProjection, options: Partial<RebuildOptions> = {}): Rebuild {
  const resolved = resolveRebuildOptions({
    store,
    kafka: { reader: () => {} } as never,
    runtime: hastyRuntime(),
    again: true,
    ...options,
  })
  return auditedRebuild(new TableRebuild(projection as never, resolved, log), projection.name, resolved)
}

async function finish(rebuild: Rebuild): Promise<RebuildStatus> {
  let last: RebuildStatus | undefined
  for await (const status of rebuild.run(operator)) last = status
  return last as RebuildStatus
}

/** Lets something happen once, when a step of the store begins. */
function once(name: string, work: () => Promise<void>): void {
  let isFirst = true
  onStep = async (step) => {
    if (step !== name || !isFirst) return
    isFirst = false
    await work()
  }
}

function credit(accountId: string, amount: number, version?: number): Promise<KafkaRecord> {
  return recordOf('FundsCredited', { accountId, amount: String(amount) }, version, 0)
}

async function* eventsOf(records: readonly KafkaRecord[]): AsyncGenerator<KafkaRecord> {
  yield* records
}

for (const projection of [balances, balancesByPosition])
  test(`a consumer that knows a retired table applies events to the live one, while a roll-back reads them too (${projection.versions})`, async () => {
    const consumer = createProjector(projection, { store })
    for (const record of await history('a', [1])) log.append(0, record)
    while ((await log.deliver(consumer)) > 0);
    expect(await finish(rebuildOf(projection, { switch: 'WHEN_READY' }))).toMatchObject({ state: 'LIVE', build: 2 })
    const back = rebuildOf(projection)
    await back.rollBack(operator)
    log.append(0, await credit('a', 5, 3))
    expect(await finish(back)).toMatchObject({ state: 'READY', build: 1, remaining: 0n })
    while ((await log.deliver(consumer)) > 0);
    expect(store.find(projection.name, 'a')).toMatchObject({ balance: '6' })
    await back.cancel(operator)
    expect(store.find(projection.name, 'a')).toMatchObject({ balance: '6' })
  })

test('a worker that comes back after a switch and a roll-back applies no event again, by position', async () => {
  const consumer = createProjector(balancesByPosition, { store })
  for (const record of await history('a', [1])) log.append(0, record)
  const first = rebuildOf(balancesByPosition, { workers: 1 })
  const running = first.run(operator)
  for (let state = ''; state !== 'READY'; ) state = (await running.next()).value.state
  // Its worker reads an event, and gets no further for long.
  const [reading, reads] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const open = log.open.bind(log)
  log.open = (partition, from, until) => {
    log.open = open
    const reader = open(partition, from, until)
    return {
      ...reader,
      next: async (most: number) => {
        reading.resolve()
        await reads.promise
        return reader.next(most)
      },
    }
  }
  log.append(0, await credit('a', 5))
  await reading.promise
  await first.switchNow(operator)
  while ((await log.deliver(consumer)) > 0);
  expect(store.find('account_position', 'a')).toMatchObject({ balance: '6' })
  expect(await finish(rebuildOf(balancesByPosition, { switch: 'WHEN_READY' }))).toMatchObject({
    state: 'LIVE',
    build: 2,
  })
  const back = rebuildOf(balancesByPosition, { switch: 'WHEN_READY', verify: 0 })
  await back.rollBack(operator)
  reads.resolve()
  for (let turns = 0; turns < 50; turns++) await nextTurn()
  await running.return(undefined as never)
  expect(await finish(back)).toMatchObject({ state: 'LIVE', build: 1 })
  expect(store.find('account_position', 'a')).toMatchObject({ balance: '6' })
})

test('the gap of a key that gets events all the time is closed', async () => {
  const consumer = createProjector(balances, { store })
  const records = await history('a', [1, 2, 4])
  for (const index of [0, 2, 3, 1]) log.append(0, records[index] as KafkaRecord)
  while ((await log.deliver(consumer)) > 0);
  await createQuarantine(balances, { store }).release('a', eventsOf(records), operator)
  // Once the topics have been read for gaps, a worker reads another event before the gap is closed.
  const open = log.open.bind(log)
  const build = { projection: balances.name, number: 2 }
  log.open = (partition, from, until) => {
    const reader = open(partition, from, until)
    return {
      ...reader,
      next: async (most: number) => {
        const [first] = await store.quarantined(build, { after: null, limit: 1 })
        const read = await reader.next(most)
        if (read !== undefined || from > 0n || first === undefined || partition.partition !== 0) return read
        log.append(0, await credit('a', 10, 5))
        await log.deliver(consumer)
        for (let last = 0; last < 5; await nextTurn())
          last = (await store.quarantined(build, { after: null, limit: 1 }))[0]?.last ?? 5
        return undefined
      },
    }
  }
  expect(await finish(rebuildOf(balances, { switch: 'WHEN_READY' }))).toMatchObject({ state: 'LIVE', quarantined: 0 })
  expect(store.find('account_balance', 'a')).toMatchObject({ balance: '17' })
})

test('a key that is released in the live table while the tables are compared is released in the new one too', async () => {
  const consumer = createProjector(balances, { store })
  const records = await history('a', [1, 2])
  for (const index of [0, 2, 1]) log.append(0, records[index] as KafkaRecord)
  while ((await log.deliver(consumer)) > 0);
  once('scan', async () => {
    await createQuarantine(balances, { store }).release('a', eventsOf(records), operator)
  })
  const last = await finish(rebuildOf(balances, { switch: 'WHEN_READY' }))
  expect(last).toMatchObject({ state: 'LIVE', quarantined: 0, verification: { rows: 1, differences: [] } })
  expect(store.find('account_balance', 'a')).toMatchObject({ balance: '3' })
})

test('a table that has been ready for long catches up before it becomes live', async () => {
  const consumer = createProjector(balances, { store })
  for (const record of await history('a', [])) log.append(0, record)
  while ((await log.deliver(consumer)) > 0);
  const rebuild = rebuildOf(balances)
  expect(await finish(rebuild)).toMatchObject({ state: 'READY' })
  const [one] = [await credit('a', 1, 2)]
  // Repeats of one event: a switch applies 5,000 records at most.
  for (let count = 0; count < 6_000; count++) log.append(0, one)
  log.append(0, await credit('a', 2, 3))
  while ((await log.deliver(consumer, 1_000)) > 0);
  await rebuild.switchNow(operator)
  expect((await store.builds('account_balance')).map(({ state }) => state)).toEqual(['RETIRED', 'LIVE'])
  expect(store.find('account_balance', 'a')).toMatchObject({ balance: '3' })
})

test('a rebuild whose workers cannot go on ends, whatever it waits for', async () => {
  for (const record of await history('a', [1])) log.append(0, record)
  const { name, revision, fingerprint } = balances
  await store.transaction(async (tx) => {
    await tx.lock(name, 'EXCLUSIVE')
    await tx.addBuild({ projection: name, number: 1, revision, fingerprint, state: 'VERIFYING' })
    // Changed by hand.
    await tx.write(tableOf(balances, 1), [{ key: 'a', version: 1, state: { balance: 5 }, isQuarantined: false }])
    await tx.advance({ projection: name, number: 1 }, [{ topic: 'accounts', partition: 1, next: 0n }])
  })
  await expect(finish(rebuildOf(balances))).rejects.toThrow(ProjectionStateError)
})

test('a database that is away during a switch delays it', async () => {
  for (const record of await history('a', [1])) log.append(0, record)
  once('show', () => Promise.reject(new UnavailableError('The database is away.')))
  expect(await finish(rebuildOf(balances, { switch: 'WHEN_READY' }))).toMatchObject({ state: 'LIVE' })
})

for (const projection of [balances, balancesByPosition])
  test(`records that retention removes while their partition is read fail the rebuild (${projection.versions})`, async () => {
    for (const record of await history('a', [1, 2, 3])) log.append(0, record)
    const open = log.open.bind(log)
    log.open = (partition, from, until) => {
      if (partition.partition !== 0) return open(partition, from, until)
      // Like a reader of Kafka, it continues at the first record that is left.
      log.starts = [3n, 0n]
      return open(partition, 3n, until)
    }
    await expect(finish(rebuildOf(projection))).rejects.toThrow(
      /accounts-0 was cut at offset 3, and the rebuild was at 0/,
    )
  })

test('a log that ends earlier than before is not passed over', async () => {
  for (const record of await history('a', [1, 2])) log.append(0, record)
  const [partitions, open] = [log.partitions.bind(log), log.open.bind(log)]
  let isLonger = true
  log.partitions = async () => {
    const found = await partitions()
    return isLonger ? found.map((one) => (one.partition === 0 ? { ...one, end: 5n } : one)) : found
  }
  log.open = (partition, from, until) => {
    // Its leader has lost the last records.
    isLonger = false
    return open(partition, from, until)
  }
  await store.transaction(async (tx) => {
    const { name, revision, fingerprint } = balances
    await tx.lock(name, 'EXCLUSIVE')
    await tx.addBuild({ projection: name, number: 1, revision, fingerprint, state: 'CATCHING_UP' })
    await tx.lockPositions(
      { projection: name, number: 1 },
      [0, 1].map((partition) => ({ topic: 'accounts', partition })),
    )
  })
  const running = rebuildOf(balances, { workers: 1 }).run(operator)
  for (let state = ''; state !== 'READY'; ) state = (await running.next()).value.state
  expect(await store.positions({ projection: balances.name, number: 1 })).toMatchObject([{ next: 3n }, { next: 0n }])
  await running.return(undefined as never)
})

test('a key with two gaps, of which the live table has closed the first, is built up to the second', async () => {
  const consumer = createProjector(balances, { store })
  const records = await history('a', [1, 2, 4, 8, 16])
  for (const index of [0, 2, 1]) log.append(0, records[index] as KafkaRecord)
  while ((await log.deliver(consumer)) > 0);
  await createQuarantine(balances, { store }).release('a', eventsOf(records.slice(0, 3)), operator)
  // Version 5 has not come yet.
  for (const index of [3, 5]) log.append(0, records[index] as KafkaRecord)
  while ((await log.deliver(consumer)) > 0);
  const last = await finish(rebuildOf(balances, { switch: 'WHEN_READY' }))
  expect(last).toMatchObject({ state: 'LIVE', quarantined: 1, verification: { rows: 1, differences: [] } })
  const quarantine = createQuarantine(balances, { store })
  expect(await quarantine.list({}, operator)).toMatchObject([
    { key: 'a', reason: 'GAP', expected: 5, found: 6, last: 6 },
  ])
  expect(await quarantine.release('a', eventsOf(records), operator)).toBe(6)
  expect(store.find('account_balance', 'a')).toMatchObject({ balance: '31' })
})

test('a process that verifies goes on when others have switched its build, replaced it and rolled it back', async () => {
  for (const record of await history('a', [1])) log.append(0, record)
  const first = rebuildOf(balances, { verify: 0 })
  const running = first.run(operator)
  for (let state = ''; state !== 'VERIFYING'; ) state = (await running.next()).value.state
  const other = rebuildOf(balances, { switch: 'WHEN_READY', verify: 0 })
  expect(await finish(other)).toMatchObject({ state: 'LIVE', build: 1 })
  expect(await finish(rebuildOf(balances, { switch: 'WHEN_READY', verify: 0 }))).toMatchObject({ build: 2 })
  // Its workers have stopped: their build was live.
  for (let turns = 0; turns < 200; turns++) await nextTurn()
  await other.rollBack(operator)
  log.append(0, await credit('a', 5, 3))
  let last: RebuildStatus | undefined
  for await (const status of running) last = status
  expect(last).toMatchObject({ state: 'READY', build: 1, remaining: 0n })
})

test('a batch that quarantines a key locks its rows in the order of their keys', async () => {
  const steps: string[] = []
  onStep = (step) => void steps.push(step)
  const consumer = createProjector(balances, { store })
  for (const key of ['a', 'b']) await consumer.handleBatch(await history(key, [1]), undefined as never)
  steps.length = 0
  await expect(
    consumer.handleBatch([await credit('b', 1, 3), await credit('a', 1, 4)], undefined as never),
  ).rejects.toThrow(/Record 1 of the batch failed/)
  const locked = steps.filter((step) => step.startsWith('locked row')).map((step) => step.at(-1))
  expect(locked.slice(0, 2)).toEqual(['a', 'b'])
})

test('a rebuild that another process cancels while its gaps are closed is cancelled, not failed', async () => {
  const [first, second, third] = (await history('a', [1, 2])) as [KafkaRecord, KafkaRecord, KafkaRecord]
  for (const record of [first, third, second]) log.append(0, record)
  const consumer = createProjector(balances, { store })
  while ((await log.deliver(consumer)) > 0);
  const administration = { auditLog: { write: () => {} }, permits: () => true }
  await createQuarantine(balances, { store, administration }).release('a', eventsOf([second, third]), operator)
  // Its worker is slow, and learns of it later. So does the table, which is dropped at the end.
  const [idle, dropping, over] = Array.from({ length: 3 }, () => Promise.withResolvers<void>()) as [
    PromiseWithResolvers<void>,
    PromiseWithResolvers<void>,
    PromiseWithResolvers<void>,
  ]
  let cancelling: Promise<unknown> | undefined
  let isVerified = false
  onStep = async (step) => {
    if (step === 'quarantined' && cancelling === undefined) {
      isVerified = true
      await idle.promise
      cancelling = rebuildOf(balances).cancel(operator)
      await dropping.promise
    } else if (step === 'claim' && isVerified) {
      idle.resolve()
      await over.promise
    } else if (step === 'drop table') {
      dropping.resolve()
      await over.promise
    }
  }
  const finished = finish(rebuildOf(balances)).catch((error: unknown) => error)
  await dropping.promise
  for (let turns = 0; turns < 100; turns++) await nextTurn()
  over.resolve()
  expect(await finished).toMatchObject({ state: 'CANCELLED', reason: null })
  await cancelling
})
