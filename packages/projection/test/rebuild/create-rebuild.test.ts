import { setImmediate as nextTurn } from 'node:timers/promises'
import { type AuditEntry, applicationOperator, OperationForbiddenError, StateError } from '@waybill/core'
import type { StoredRow } from '@waybill/core/internal'
import type { KafkaRecord } from '@waybill/kafka'
import { beforeEach, describe, expect, test } from 'vitest'
import { defineProjection } from '../../src/definition/define-projection.ts'
import {
  RebuildFailedError,
  RebuildRefusedError,
  RevisionMismatchError,
} from '../../src/definition/projection-errors.ts'
import { createMemoryProjectionStore, type MemoryProjectionStore } from '../../src/memory/memory-projection-store.ts'
import { createProjector } from '../../src/projector/create-projector.ts'
import { createQuarantine } from '../../src/quarantine/create-quarantine.ts'
import { auditedRebuild, type Rebuild } from '../../src/rebuild/create-rebuild.ts'
import { type RebuildOptions, resolveRebuildOptions } from '../../src/rebuild/rebuild-options.ts'
import { type RebuildStatus, TableRebuild } from '../../src/rebuild/table-rebuild.ts'
import { account, accounts, balances, balancesByPosition } from '../test-accounts.ts'
import { history, recordOf } from '../test-records.ts'
import { hastyClock, hastyRuntime, TestLog } from './test-log.ts'

const operator = applicationOperator()
const open = { balance: '0', currency: 'EUR', status: 'OPENED' }

/** The next revision: it doubles each credit. */
const doubled = defineProjection({
  name: 'account_balance',
  revision: 2,
  events: accounts,
  state: account,
  columns: { balance: 'decimal', currency: 'text', status: 'text' },
  keyColumn: 'account_id',
}).on({
  AccountOpened: (_, { payload }) => ({ balance: payload.balance, currency: payload.currency, status: 'OPENED' }),
  FundsCredited: (state, { payload }) =>
    state && { ...state, balance: String(BigInt(state.balance) + 2n * BigInt(payload.amount)) },
})

let store: MemoryProjectionStore
let log: TestLog

beforeEach(() => {
  store = createMemoryProjectionStore({ clock: hastyClock })
  log = new TestLog(2)
})

function rebuildOf(projection: typeof balances, options: Partial<RebuildOptions> = {}): Rebuild {
  const resolved = resolveRebuildOptions({
    store,
    kafka: { reader: () => {} } as never,
    runtime: hastyRuntime(),
    ...options,
  })
  return auditedRebuild(new TableRebuild(projection as never, resolved, log), projection.name, resolved)
}

async function finish(rebuild: Rebuild): Promise<RebuildStatus> {
  let last: RebuildStatus | undefined
  for await (const status of rebuild.run(operator)) last = status
  return last as RebuildStatus
}

async function appendHistory(key: string, amounts: readonly number[], partition = 0): Promise<void> {
  for (const record of await history(key, amounts)) log.append(partition, record)
}

function rowOf(key: string, version: number, balance: string): StoredRow {
  return { key, version, state: { ...open, balance }, isQuarantined: false }
}

async function* noEvents() {}

async function states(): Promise<readonly string[]> {
  return (await store.builds('account_balance')).map(({ number, state }) => `${number} ${state}`)
}

describe('a rebuild', () => {
  test('of the same revision becomes ready, equal to the live table, and then live', async () => {
    const projector = createProjector(balances, { store })
    await appendHistory('a', [1, 2])
    await appendHistory('b', [3], 1)
    while ((await log.deliver(projector)) > 0);
    const rebuild = rebuildOf(balances, { again: true })
    const ready = await finish(rebuild)
    expect(ready).toMatchObject({ state: 'READY', build: 2, applied: 5, remaining: 0n, quarantined: 0 })
    expect(ready.verification).toMatchObject({ rows: 2, expected: 0, differences: [] })
    expect(ready.verification?.checksums.live).toBe(ready.verification?.checksums.built)
    expect(await states()).toEqual(['1 LIVE', '2 READY'])
    await rebuild.switchNow(operator)
    expect(await states()).toEqual(['1 RETIRED', '2 LIVE'])
    expect(store.find('account_balance', 'a')).toEqual({ ...open, balance: '3' })
  })

  test('of a new revision serves the former one until the switch, and no reader sees a wrong or missing row', async () => {
    await appendHistory('a', [])
    await log.deliver(createProjector(balances, { store }))
    const projector = createProjector(doubled, { store, previous: [balances] })
    const rebuild = rebuildOf(doubled, { previous: [balances], switch: 'WHEN_READY', expectDifference: () => true })
    await log.deliver(projector)
    const seen: string[] = []
    let [version, isDone] = [1, false]
    const writing = (async () => {
      while (!isDone) {
        version++
        log.append(0, await recordOf('FundsCredited', { accountId: 'a', amount: '1' }, version, 0))
        await log.deliver(projector)
        seen.push(String(store.find('account_balance', 'a')?.['balance']))
        await nextTurn()
      }
      while ((await log.deliver(projector)) > 0);
    })()
    const end = await finish(rebuild).finally(() => {
      isDone = true
    })
    await writing
    expect(end).toMatchObject({ state: 'LIVE', build: 2 })
    expect(await states()).toEqual(['1 RETIRED', '2 LIVE'])
    // 1, 2, 3 … under the former revision, and then twice that: no value is left out, none is repeated.
    const atSwitch = seen.findIndex((balance, index) => Number(balance) !== index + 1)
    expect(seen.slice(0, atSwitch)).toEqual(seen.slice(0, atSwitch).map((_, index) => String(index + 1)))
    for (const [index, balance] of seen.entries())
      if (atSwitch >= 0 && index >= atSwitch) expect(Number(balance)).toBe(2 * (index + 1))
    expect(store.find('account_balance', 'a')).toEqual({ ...open, balance: String(2 * (version - 1)) })
  })

  test('that is killed at any batch continues where it was, by another process, and applies each event once', async () => {
    for (const key of ['a', 'b', 'c', 'd']) await appendHistory(key, [1, 2, 3, 4], key < 'c' ? 0 : 1)
    let batches = 0
    const killed = hastyRuntime(() => {
      if (++batches === 2) throw new RangeError('killed')
    })
    const first = rebuildOf(balances, { runtime: killed, eventsPerSecond: 4, workers: 1 })
    const running = first.run(operator)
    await running.next()
    await running.return(undefined as never)
    const [left] = await states()
    expect(['1 CATCHING_UP', '1 VERIFYING']).toContain(left)
    const [second, third] = [rebuildOf(balances), rebuildOf(balances)]
    const ends = await Promise.all([finish(second), finish(third)])
    expect(ends.map(({ state }) => state)).toEqual(['READY', 'READY'])
    await second.switchNow(operator)
    for (const key of ['a', 'b', 'c', 'd'])
      expect(store.find('account_balance', key)).toEqual({ ...open, balance: '10' })
  })

  test('of an empty topic is ready at once, and a finished one is not repeated', async () => {
    expect(await finish(rebuildOf(balances, { switch: 'WHEN_READY' }))).toMatchObject({ state: 'LIVE', build: 1 })
    expect(await finish(rebuildOf(balances, { switch: 'WHEN_READY' }))).toMatchObject({ state: 'LIVE', build: 1 })
    expect(await states()).toEqual(['1 LIVE'])
  })

  test('is refused when the first events are gone, before anything is written', async () => {
    await appendHistory('a', [1])
    log.starts = [1n, 0n]
    await expect(finish(rebuildOf(balances))).rejects.toThrow(RebuildRefusedError)
    expect(await states()).toEqual([])
  })

  test('takes the first events from a history, and the others from the topic', async () => {
    const records = await history('a', [1, 2, 3])
    for (const record of records) log.append(0, record)
    log.starts = [3n, 0n]
    const asked: bigint[] = []
    async function* archive(after: bigint) {
      asked.push(after)
      for (const [index, record] of records.slice(0, 3).entries())
        if (BigInt(index + 1) > after) yield { ...record, position: BigInt(index + 1) }
    }
    const rebuild = rebuildOf(balances, { history: archive, switch: 'WHEN_READY' })
    expect(await finish(rebuild)).toMatchObject({ state: 'LIVE', applied: 4 })
    expect(asked).toEqual([0n])
    expect(store.find('account_balance', 'a')).toEqual({ ...open, balance: '6' })
  })

  test('is refused from a history that is incomplete, and without versions from any, before anything is written', async () => {
    const cut = Object.assign(() => noEvents(), { incomplete: async () => 'the rows of "a" begin at version 3' })
    await expect(finish(rebuildOf(balances, { history: cut }))).rejects.toThrow('the rows of "a" begin at version 3')
    const byPosition = rebuildOf(balancesByPosition, { history: noEvents })
    await expect(finish(byPosition)).rejects.toThrow(RebuildRefusedError)
    expect(await states()).toEqual([])
    expect(await store.builds('account_position')).toEqual([])
  })

  test('fails at an event that is missing here and was there live, and leaves the live table alone', async () => {
    const projector = createProjector(balances, { store })
    await appendHistory('a', [1, 2])
    await log.deliver(projector)
    const lost = log.partitionsOfTopic[0] as KafkaRecord[]
    lost[1] = { ...(lost[0] as KafkaRecord), offset: 1n }
    await expect(finish(rebuildOf(balances, { again: true }))).rejects.toThrow(RebuildFailedError)
    expect(await states()).toEqual(['1 LIVE', '2 FAILED'])
    expect((await store.builds('account_balance'))[1]?.reason).toMatch(
      /"a" needs version 2, found 3 \(GAP\), and the live row has version 3/,
    )
    expect(store.find('account_balance', 'a')).toEqual({ ...open, balance: '3' })
  })

  test('quarantines the keys that are quarantined live', async () => {
    const projector = createProjector(balances, { store })
    const records = await history('a', [1, 2, 3])
    for (const record of [...records.slice(0, 2), ...records.slice(3)]) log.append(0, record)
    await appendHistory('b', [7])
    while ((await log.deliver(projector)) > 0);
    expect(await finish(rebuildOf(balances, { again: true }))).toMatchObject({ state: 'READY', quarantined: 1 })
  })

  test('applies an event that came behind later ones, after its key was released', async () => {
    const projector = createProjector(balances, { store })
    const [opened, first, second, third] = (await history('a', [1, 2, 4])) as [
      KafkaRecord,
      KafkaRecord,
      KafkaRecord,
      KafkaRecord,
    ]
    for (const record of [opened, second, third]) log.append(0, record)
    await appendHistory('b', [7], 1)
    while ((await log.deliver(projector)) > 0);
    log.append(1, first)
    while ((await log.deliver(projector)) > 0);
    async function* dead(): AsyncGenerator<KafkaRecord> {
      yield* [second, third, first]
    }
    await createQuarantine(balances, { store }).release('a', dead(), operator)
    log.append(0, await recordOf('AccountClosed', { accountId: 'a' }, 5, 0))
    while ((await log.deliver(projector)) > 0);
    const live = store.find('account_balance', 'a')
    expect(live).toEqual({ ...open, balance: '7', status: 'CLOSED' })
    const rebuild = rebuildOf(balances, { again: true, switch: 'WHEN_READY' })
    expect(await finish(rebuild)).toMatchObject({ state: 'LIVE', build: 2, quarantined: 0 })
    expect(store.find('account_balance', 'a')).toEqual(live)
  })

  test('fails at a row that only one of the two tables has, and lists it', async () => {
    const projector = createProjector(balances, { store })
    await appendHistory('a', [1])
    await appendHistory('b', [2], 1)
    while ((await log.deliver(projector)) > 0);
    const table = { projection: 'account_balance', keyColumn: 'account_id', columns: balances.columns }
    const row = { key: 'c', version: 1, state: open, isQuarantined: false }
    await store.transaction((tx) => tx.write({ ...table, number: 1 }, [row]))
    const failure: unknown = await finish(rebuildOf(balances, { again: true })).catch((error: unknown) => error)
    expect(failure).toBeInstanceOf(RebuildFailedError)
    expect((failure as RebuildFailedError).differences).toEqual([{ key: 'c', live: row, built: undefined }])
    expect(JSON.stringify(failure)).not.toContain('OPENED')

    // The other way round: the live table has lost a row.
    await store.dropTable({ projection: 'account_balance', number: 1 })
    await store.transaction(async (tx) => {
      await tx.write({ ...table, number: 1 }, [rowOf('a', 2, '1')])
      await tx.advance({ ...table, number: 1 }, await store.positions({ ...table, number: 2 }))
    })
    const other: unknown = await finish(rebuildOf(balances, { again: true })).catch((error: unknown) => error)
    expect((other as RebuildFailedError).differences).toMatchObject([
      { key: 'b', live: undefined, built: { version: 2 } },
    ])
  })

  test('is ready although the live table is behind the topics', async () => {
    const projector = createProjector(balances, { store })
    await appendHistory('a', [1])
    while ((await log.deliver(projector)) > 0);
    log.append(0, await recordOf('FundsCredited', { accountId: 'a', amount: '2' }, 3, 0))
    await appendHistory('b', [2], 1)
    const ready = await finish(rebuildOf(balances, { again: true }))
    expect(ready.verification).toMatchObject({ rows: 1, builtRows: 2, ahead: 2, differences: [] })
  })

  test('of another revision needs the one that is live', async () => {
    await appendHistory('a', [1])
    await log.deliver(createProjector(balances, { store }))
    await expect(finish(rebuildOf(doubled))).rejects.toThrow(RevisionMismatchError)
    expect(await states()).toEqual(['1 LIVE'])
  })

  test('with more incomplete keys than gaps that a release leaves stops before it has read everything', async () => {
    for (let index = 0; index <= 1_000; index++)
      log.append(0, await recordOf('FundsCredited', { accountId: `k${index}`, amount: '1' }, 2, 0))
    await expect(finish(rebuildOf(balances))).rejects.toThrow(/more than 1000 keys cannot be rebuilt/)
    expect(await states()).toEqual(['1 FAILED'])
  })

  test('reads partitions that are added while it runs', async () => {
    await appendHistory('a', [1])
    const rebuild = rebuildOf(balances)
    const running = rebuild.run(operator)
    for (let state = ''; state !== 'VERIFYING'; ) state = (await running.next()).value.state
    log.addPartition()
    await appendHistory('b', [2], 2)
    for (let state = ''; state !== 'READY'; ) state = (await running.next()).value.state
    await running.return(undefined as never)
    await rebuild.switchNow(operator)
    expect(store.find('account_balance', 'b')).toEqual({ ...open, balance: '2' })
  })

  test('ignores the positions of topics that only the live revision reads', async () => {
    await appendHistory('a', [1])
    await log.deliver(createProjector(balances, { store }))
    const live = { projection: 'account_balance', number: 1 }
    await store.transaction((tx) => tx.advance(live, [{ topic: 'former', partition: 0, next: 7n }]))
    // The rows of this one are compared once the new table includes what the live one does.
    log.append(0, await recordOf('FundsCredited', { accountId: 'a', amount: '2' }, 3, 0))
    const rebuild = rebuildOf(balances, { again: true, switch: 'WHEN_READY' })
    expect(await finish(rebuild)).toMatchObject({ state: 'LIVE', build: 2 })
  })

  test('that a worker releases after the switch leaves the live position where it is', async () => {
    const projector = createProjector(balancesByPosition, { store })
    await appendHistory('a', [1])
    const rebuild = rebuildOf(balancesByPosition)
    const running = rebuild.run(operator)
    for (let state = ''; state !== 'READY'; ) state = (await running.next()).value.state
    const positionOf = async () =>
      (await store.positions({ projection: 'account_position', number: 1 })).find(({ partition }) => partition === 0)
        ?.next
    // A worker has claimed the partition, and asks for its end while the build becomes the live one.
    const asked = Promise.withResolvers<void>()
    const answer = Promise.withResolvers<void>()
    const partitions = log.partitions.bind(log)
    const before = await log.partitions()
    log.partitions = async () => {
      asked.resolve()
      await answer.promise
      return before
    }
    await asked.promise
    await rebuild.switchNow(operator)
    log.append(0, await recordOf('FundsCredited', { accountId: 'a', amount: '5' }, undefined, 0))
    while ((await log.deliver(projector)) > 0);
    expect(await positionOf()).toBe(3n)
    log.partitions = partitions
    answer.resolve()
    await running.return(undefined as never)
    expect(await positionOf()).toBe(3n)
    await projector.handleBatch(log.partitionsOfTopic[0] ?? [], undefined as never)
    expect(store.find('account_position', 'a')).toEqual({ ...open, balance: '6' })
  })

  test('fails at a difference that is not expected, and lists it', async () => {
    const projector = createProjector(balances, { store })
    await appendHistory('a', [1])
    await appendHistory('b', [])
    await log.deliver(projector)
    const rebuild = rebuildOf(doubled, { previous: [balances] })
    await expect(finish(rebuild)).rejects.toThrow(/1 rows differ from the live table, the first is "a"/)
    expect(await states()).toEqual(['1 LIVE', '2 FAILED'])
    const expecting = rebuildOf(doubled, { previous: [balances], expectDifference: (key) => key === 'a' })
    expect((await finish(expecting)).verification).toMatchObject({ expected: 1, differences: [] })
  })
})

describe('a roll-back', () => {
  test('brings the former table back once it has caught up', async () => {
    await appendHistory('a', [1])
    await log.deliver(createProjector(balances, { store }))
    const projector = createProjector(doubled, { store, previous: [balances] })
    await finish(rebuildOf(doubled, { previous: [balances], switch: 'WHEN_READY', verify: 0 }))
    log.append(0, await recordOf('FundsCredited', { accountId: 'a', amount: '5' }, 3, 0))
    await log.deliver(projector)
    expect(store.find('account_balance', 'a')).toEqual({ ...open, balance: '12' })
    const back = rebuildOf(balances, { previous: [doubled], switch: 'WHEN_READY', verify: 0 })
    await back.rollBack(operator)
    expect(await finish(back)).toMatchObject({ state: 'LIVE', build: 1 })
    expect(await states()).toEqual(['1 LIVE', '2 RETIRED'])
    expect(store.find('account_balance', 'a')).toEqual({ ...open, balance: '6' })
    log.append(0, await recordOf('FundsCredited', { accountId: 'a', amount: '1' }, 4, 0))
    await log.deliver(projector)
    expect(store.find('account_balance', 'a')).toEqual({ ...open, balance: '7' })
  })

  test('from a table that was built from a history needs no history', async () => {
    const records = await history('a', [1, 2, 3])
    for (const record of records) log.append(0, record)
    await log.deliver(createProjector(balances, { store }))
    log.starts = [3n, 0n]
    async function* archive(after: bigint) {
      for (const [index, record] of records.slice(0, 3).entries())
        if (BigInt(index + 1) > after) yield { ...record, position: BigInt(index + 1) }
    }
    const built = rebuildOf(doubled, {
      previous: [balances],
      history: archive,
      switch: 'WHEN_READY',
      expectDifference: () => true,
    })
    expect(await finish(built)).toMatchObject({ state: 'LIVE', build: 2 })
    const back = rebuildOf(balances, { previous: [doubled], switch: 'WHEN_READY', expectDifference: () => true })
    await back.rollBack(operator)
    expect(await finish(back)).toMatchObject({ state: 'LIVE', build: 1 })
  })

  test('needs a former table', async () => {
    await expect(rebuildOf(balances).rollBack(operator)).rejects.toThrow(StateError)
  })
})

describe('a rebuild under way', () => {
  test('is cancelled for all processes, and its table is dropped', async () => {
    await appendHistory('a', [1, 2, 3])
    const rebuild = rebuildOf(balances, { eventsPerSecond: 1 })
    const running = rebuild.run(operator)
    await running.next()
    await rebuildOf(balances).cancel(operator)
    let last: RebuildStatus | undefined
    for await (const status of running) last = status
    expect(last?.state).toBe('CANCELLED')
    expect(await states()).toEqual(['1 CANCELLED'])
  })

  test('excludes one of another revision, and a switch before it is ready', async () => {
    await appendHistory('a', [1])
    const running = rebuildOf(balances, { eventsPerSecond: 1 }).run(operator)
    await running.next()
    await expect(finish(rebuildOf(doubled))).rejects.toThrow(/a rebuild of revision 1 is under way/)
    await expect(rebuildOf(balances).switchNow(operator)).rejects.toThrow(/not READY/)
    await running.return(undefined as never)
  })

  test('does not switch while a key is behind the live table, and compares again', async () => {
    const projector = createProjector(balances, { store })
    await appendHistory('a', [1])
    while ((await log.deliver(projector)) > 0);
    const rebuild = rebuildOf(balances, { again: true })
    const running = rebuild.run(operator)
    for (let state = ''; state !== 'READY'; ) state = (await running.next()).value.state
    // The live table has an event that the topic lacks.
    const table = { projection: 'account_balance', number: 1, keyColumn: 'account_id', columns: balances.columns }
    log.append(0, await recordOf('FundsCredited', { accountId: 'a', amount: '1' }, 4, 0))
    await store.transaction(async (tx) => {
      await tx.write(table, [rowOf('a', 4, '9')])
      await tx.advance(table, [{ topic: 'accounts', partition: 0, next: 3n }])
    })
    await expect(rebuild.switchNow(operator)).rejects.toThrow(/too far behind to switch/)
    expect(await states()).toEqual(['1 LIVE', '2 VERIFYING'])
    await running.return(undefined as never)
    await expect(finish(rebuildOf(balances, { again: true }))).rejects.toThrow(/"a" needs version 3, found 4/)
    await rebuild.dropRetired(operator)
    expect(await states()).toEqual(['1 LIVE', '2 CANCELLED'])
    expect(await store.positions({ ...table, number: 2 })).toEqual([])
  })

  test('that is live leaves its former tables until they are dropped', async () => {
    await finish(rebuildOf(balances, { switch: 'WHEN_READY' }))
    const again = rebuildOf(balances, { switch: 'WHEN_READY', again: true })
    await finish(again)
    await again.dropRetired(operator)
    expect(await states()).toEqual(['1 CANCELLED', '2 LIVE'])
    await expect(again.rollBack(operator)).rejects.toThrow(/no former table/)
  })
})

describe('an operator', () => {
  const asked: AuditEntry[] = []
  const permitted = new Set<string>()
  const administration = {
    auditLog: { write: (entry: AuditEntry) => void asked.push(entry) },
    permits: (_: unknown, operation: string) => permitted.has(operation),
  }
  const anna = { by: 'anna', reason: 'cents were rounded' }

  beforeEach(() => {
    asked.length = 0
    permitted.clear()
  })

  test('I21 needs a permission for each step of a rebuild, and each one that changes something is in the audit log', async () => {
    await appendHistory('a', [1])
    const rebuild = rebuildOf(balances, { administration })
    for (const refused of [
      () => rebuild.run(anna).next(),
      () => rebuild.switchNow(anna),
      () => rebuild.rollBack(anna),
      () => rebuild.cancel(anna),
      () => rebuild.dropRetired(anna),
    ])
      await expect(refused()).rejects.toThrow(OperationForbiddenError)
    expect(await states()).toEqual([])
    expect(asked.map(({ operation, outcome, target }) => [operation, outcome, target])).toEqual(
      ['REBUILD', 'SWITCH_TABLE', 'ROLL_BACK_TABLE', 'CANCEL_REBUILD', 'DROP_TABLES'].map((operation) => [
        operation,
        'REFUSED',
        'account_balance',
      ]),
    )

    asked.length = 0
    for (const operation of ['REBUILD', 'SWITCH_TABLE', 'DROP_TABLES']) permitted.add(operation)
    for await (const _ of rebuild.run(anna));
    await rebuild.switchNow(anna)
    await rebuild.dropRetired(anna)
    expect(asked.map(({ operation, outcome, by, reason, detail }) => [operation, outcome, by, reason, detail])).toEqual(
      [
        ['REBUILD', 'ASKED', 'anna', anna.reason, undefined],
        ['REBUILD', 'DONE', 'anna', anna.reason, { build: 1, revision: 1, state: 'CATCHING_UP' }],
        ['SWITCH_TABLE', 'ASKED', 'anna', anna.reason, undefined],
        ['SWITCH_TABLE', 'DONE', 'anna', anna.reason, { live: 1 }],
        ['DROP_TABLES', 'ASKED', 'anna', anna.reason, undefined],
        ['DROP_TABLES', 'DONE', 'anna', anna.reason, { dropped: [] }],
      ],
    )
  })

  test('I21 who may not switch may not start a rebuild that switches by itself', async () => {
    permitted.add('REBUILD')
    const rebuild = rebuildOf(balances, { administration, switch: 'WHEN_READY' })
    await expect(rebuild.run(anna).next()).rejects.toThrow(OperationForbiddenError)
    expect(await states()).toEqual([])
    permitted.add('SWITCH_TABLE')
    for await (const _ of rebuild.run(anna));
    expect(await states()).toEqual(['1 LIVE'])
    expect(asked.filter(({ outcome }) => outcome === 'DONE').map(({ operation }) => operation)).toEqual([
      'REBUILD',
      'SWITCH_TABLE',
    ])
  })
})
