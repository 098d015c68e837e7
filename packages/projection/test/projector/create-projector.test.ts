import { BatchProcessingError } from '@waybill/connector'
import {
  applicationOperator,
  createMemoryLogger,
  createMemoryMetrics,
  type MemoryLogger,
  type MemoryMetrics,
  NonRetryableError,
  RecordHeaders,
  type Runtime,
  runtimeWith,
} from '@waybill/core'
import type { KafkaRecord } from '@waybill/kafka'
import { beforeEach, describe, expect, test } from 'vitest'
import { defineProjection } from '../../src/definition/define-projection.ts'
import {
  FoldFailedError,
  KeyQuarantinedError,
  ProjectionInputError,
  RevisionMismatchError,
  VersionGapError,
} from '../../src/definition/projection-errors.ts'
import { createMemoryProjectionStore, type MemoryProjectionStore } from '../../src/memory/memory-projection-store.ts'
import { createProjector, type Projector } from '../../src/projector/create-projector.ts'
import { createQuarantine } from '../../src/quarantine/create-quarantine.ts'
import { account, accounts, balances, balancesByPosition } from '../test-accounts.ts'
import { history, recordOf, strangeRecord } from '../test-records.ts'

const build = { projection: 'account_balance', number: 1 }
const open = { balance: '0', currency: 'EUR', status: 'OPENED' }
let metrics: MemoryMetrics
let logger: MemoryLogger
let runtime: Runtime
let steps: string[]
let store: MemoryProjectionStore
let projector: Projector

beforeEach(() => {
  metrics = createMemoryMetrics()
  logger = createMemoryLogger()
  runtime = runtimeWith({ metrics, logger })
  steps = []
  store = createMemoryProjectionStore({ pause: async (step) => void steps.push(step) })
  projector = createProjector(balances, { store, runtime })
})

function handle(records: readonly KafkaRecord[], by = projector): Promise<void> {
  return Promise.resolve(by.handleBatch(records, undefined as never))
}

/** Handles records as the connector does: a record that is named as failed is dead, and the rest is delivered again. */
async function deliver(records: readonly KafkaRecord[], by = projector): Promise<readonly unknown[]> {
  const dead: unknown[] = []
  let left = records
  while (left.length > 0) {
    try {
      await handle(left, by)
      break
    } catch (error) {
      if (!(error instanceof BatchProcessingError)) throw error
      dead.push(error.cause)
      left = left.slice(error.failedIndex + 1)
    }
  }
  return dead
}

async function* eventsOf(records: readonly KafkaRecord[]): AsyncGenerator<KafkaRecord> {
  yield* records
}

describe('a batch', () => {
  test('S3-006 becomes rows, and the live build and its position with them', async () => {
    await handle([...(await history('a', [5, 7])), ...(await history('b', [1], 3))])
    expect(store.find('account_balance', 'a')).toEqual({ ...open, balance: '12' })
    expect(store.find('account_balance', 'b')).toEqual({ ...open, balance: '1' })
    expect(await store.positions(build)).toEqual([{ topic: 'accounts', partition: 0, next: 5n }])
    expect((await store.builds('account_balance')).map(({ state }) => state)).toEqual(['LIVE'])
  })

  test('S3-004 S3-010 of repeats only reads, and begins no transaction', async () => {
    const records = await history('a', [5, 7])
    await handle(records)
    steps = []
    await handle(records)
    expect(steps).toEqual(['read', 'builds'])
  })

  test('S3-010 without records does nothing at all', async () => {
    await handle(await history('a', []))
    steps = []
    await handle([])
    expect(steps).toEqual([])
  })

  test('S3-007 C-86 with a gap applies what comes before it, and what comes behind it of other keys', async () => {
    const a = await history('a', [5, 7, 9])
    const b = await history('b', [1], 4)
    const dead = await deliver([...a.slice(0, 2), ...a.slice(3), ...b])
    expect(dead).toEqual([expect.any(VersionGapError)])
    expect(dead[0]).toMatchObject({ key: 'a', expected: 3, found: 4 })
    expect(store.find('account_balance', 'a')).toEqual({ ...open, balance: '5' })
    expect(store.find('account_balance', 'b')).toEqual({ ...open, balance: '1' })
  })

  test('with a gap moves the position behind its dead letter, not behind the records that it has not read', async () => {
    const [opened, first, , third, fourth] = await history('a', [5, 7, 9, 11])
    const b = await history('b', [1], 5)
    await expect(handle([opened, first, third, fourth, ...b] as KafkaRecord[])).rejects.toThrow(BatchProcessingError)
    expect(await store.positions(build)).toEqual([{ topic: 'accounts', partition: 0, next: 4n }])
  })

  test('S3-007 whose transaction fails leaves nothing, and is applied when it is delivered again', async () => {
    const records = await history('a', [5])
    await handle([])
    let isDown = true
    store = createMemoryProjectionStore({
      pause: async (step) => {
        if (step === 'before COMMIT' && isDown) throw new RangeError('the database went away')
      },
    })
    const other = createProjector(balances, { store, runtime })
    await expect(handle(records, other)).rejects.toThrow(RangeError)
    expect(store.find('account_balance', 'a')).toBeUndefined()
    isDown = false
    await handle(records, other)
    expect(store.find('account_balance', 'a')).toEqual({ ...open, balance: '5' })
  })
})

test('a projector creates the table and its view before the first event', async () => {
  await projector.prepare()
  await projector.prepare()
  expect((await store.builds('account_balance')).map(({ state }) => state)).toEqual(['LIVE'])
  expect(steps).toContain('show')
})

describe('a gap', () => {
  test('of a key without a row is locked in the order of keys, with the rows that its batch writes', async () => {
    const missing = await recordOf('FundsCredited', { accountId: 'a', amount: '1' }, 2, 9)
    await deliver([...(await history('b', [1])), missing])
    const locked = steps.filter((step) => step.startsWith('locked row ')).map((step) => step.split(' ').at(-1))
    expect([...new Set(locked)]).toEqual(['a', 'b'])
  })

  test('S3-005 quarantines its key: later events are dead without a try, until it is released', async () => {
    const records = await history('a', [1, 2, 3, 4])
    const dead = await deliver([...records.slice(0, 2), ...records.slice(3)])
    expect(dead).toEqual([expect.any(VersionGapError), expect.any(KeyQuarantinedError)])
    expect(await store.quarantined(build, { after: null, limit: 10 })).toEqual([
      { key: 'a', reason: 'GAP', expected: 3, found: 4, last: 5, since: expect.any(Number) as number },
    ])
    expect(logger.lines.map(({ text }) => text)).toContain('Key quarantined')
    expect(metrics.latest('projection.quarantined.keys', { projection: 'account_balance' })).toBe(1)
    const dying = (outcome: string) => metrics.total('projection.events', { projection: 'account_balance', outcome })
    expect([dying('dead_gap'), dying('dead_quarantined')]).toEqual([1, 1])
  })

  test('is counted down when its key is released, also by another process', async () => {
    let now = 0
    const clock = { now: () => now, monotonic: () => now }
    const watched = createProjector(balances, { store, runtime: runtimeWith({ metrics, logger, clock }) })
    const keys = () => metrics.latest('projection.quarantined.keys', { projection: 'account_balance' })
    await handle(await history('b', []), watched)
    expect(keys()).toBe(0)
    const [opened, , second] = (await history('a', [1, 2], 1)) as [KafkaRecord, KafkaRecord, KafkaRecord]
    await deliver([opened, second], watched)
    expect(keys()).toBe(1)
    const row = { version: 3, state: { ...open, status: 'OPENED' as const }, reason: 'lost' }
    await createQuarantine(balances, { store }).accept('a', row, applicationOperator())
    now += 15_000
    await handle(await history('c', [], 4), watched)
    expect(keys()).toBe(0)
  })

  test('is one also for the first event of a key', async () => {
    const [, credit] = await history('a', [1])
    const dead = await deliver([credit as KafkaRecord])
    expect(dead).toEqual([expect.objectContaining({ expected: 1, found: 2 })])
    expect(store.find('account_balance', 'a')).toBeUndefined()
  })

  test('that is delivered again after a crash is dead again, and is one entry', async () => {
    const records = await history('a', [1, 2])
    const withGap = [records[0] as KafkaRecord, records[2] as KafkaRecord]
    await deliver(withGap)
    expect(await deliver(withGap)).toEqual([expect.any(KeyQuarantinedError)])
    expect(await store.countQuarantined(build)).toBe(1)
  })
})

test('an event is applied if its key was released since its row was read, and is no dead letter', async () => {
  const records = await history('a', [1, 2, 3])
  let release: (() => Promise<void>) | undefined
  const own = createMemoryProjectionStore({
    async pause(step) {
      if (step !== 'lock SHARED' || release === undefined) return
      const work = release
      release = undefined
      await work()
    },
  })
  const by = createProjector(balances, { store: own, runtime })
  const dead = await deliver([records[0], records[2]] as KafkaRecord[], by)
  expect(dead).toEqual([expect.any(VersionGapError)])
  release = async () => {
    const missing = eventsOf(records.slice(1, 3))
    await createQuarantine(balances, { store: own }).release('a', missing, applicationOperator())
  }
  expect(await deliver([records[3] as KafkaRecord], by)).toEqual([])
  expect(own.find('account_balance', 'a')).toEqual({ ...open, balance: '6' })
})

describe('an event whose fold throws', () => {
  test('is dead and quarantines its key as poison', async () => {
    const opened = await history('a', [])
    const poison = await recordOf('FundsCredited', { accountId: 'a', amount: 'poison' }, 2, 1)
    const [dead] = await deliver([...opened, poison])
    expect(dead).toBeInstanceOf(FoldFailedError)
    expect(await store.quarantined(build, { after: null, limit: 10 })).toMatchObject([{ key: 'a', reason: 'POISON' }])
  })
})

describe('S3-022 a record', () => {
  const headers = RecordHeaders.from([
    ['id', 'e-1'],
    ['eventType', 'AccountClosed'],
  ])
  const versioned = headers.with('aggregateVersion', '1')
  test.each([
    ['without the header of its id', {}],
    ['without a value', { headers, value: null }],
    ['of an unknown type', { headers: headers.with('eventType', 'AccountFrozen') }],
    ['with an invalid payload', { headers }],
    ['without a key', { headers, key: null, value: Buffer.from('{"accountId":"a"}') }],
    [
      'with a key that a database could confuse',
      { headers: versioned, key: Buffer.from('a '), value: Buffer.from('{"accountId":"a"}') },
    ],
    [
      'with a key that is longer than its column',
      { headers: versioned, key: Buffer.from('a'.repeat(256)), value: Buffer.from('{"accountId":"a"}') },
    ],
    ['without a version', { headers, value: Buffer.from('{"accountId":"a"}') }],
  ])('%s is a permanent failure, and others are applied', async (_, fields) => {
    const dead = await deliver([strangeRecord(0, fields), ...(await history('b', [1], 1))])
    expect(dead).toEqual([expect.any(ProjectionInputError)])
    expect(dead[0]).toBeInstanceOf(NonRetryableError)
    expect(store.find('account_balance', 'b')).toEqual({ ...open, balance: '1' })
    expect(await store.countQuarantined(build)).toBe(0)
  })

  test('that is no event moves the position, also alone: another revision may be able to read it', async () => {
    const strange = strangeRecord(2)
    await deliver([...(await history('a', [1])), strange])
    expect(await store.positions(build)).toMatchObject([{ next: 3n }])
    await deliver([{ ...strange, offset: 3n }])
    expect(await store.positions(build)).toMatchObject([{ next: 4n }])
  })
})

describe('S3-009 two consumers', () => {
  test('of the same events both succeed, and each event has one effect', async () => {
    const records = [...(await history('a', [1, 2, 3])), ...(await history('b', [4, 5], 4))]
    const others = [0, 1, 2].map(() => createProjector(balances, { store, runtime }))
    await Promise.all(others.map((one) => handle(records, one)))
    expect(store.find('account_balance', 'a')).toEqual({ ...open, balance: '6' })
    expect(await store.read({ ...build, keyColumn: 'account_id', columns: balances.columns }, ['b'])).toMatchObject([
      { version: 3 },
    ])
    expect((await store.builds('account_balance')).length).toBe(1)
  })
})

describe('by position', () => {
  const positions = { projection: 'account_position', number: 1 }

  test('an event without a version is applied once, whoever delivers it', async () => {
    const one = createProjector(balancesByPosition, { store, runtime })
    const other = createProjector(balancesByPosition, { store, runtime })
    const records = [
      await recordOf('AccountOpened', { accountId: 'a', balance: '0', currency: 'EUR' }, undefined, 0),
      await recordOf('FundsCredited', { accountId: 'a', amount: '1' }, undefined, 1),
      await recordOf('FundsCredited', { accountId: 'a', amount: '1' }, undefined, 4),
    ]
    await Promise.all([handle(records, one), handle(records.slice(0, 2), other), handle(records, other)])
    expect(store.find('account_position', 'a')).toEqual({ ...open, balance: '2' })
    expect(await store.positions(positions)).toEqual([{ topic: 'accounts', partition: 0, next: 5n }])
    steps = []
    await handle(records, one)
    expect(steps).toEqual(['positions', 'builds'])
  })

  test('an event whose fold throws is dead, and its key continues', async () => {
    const one = createProjector(balancesByPosition, { store, runtime })
    const records = [
      await recordOf('AccountOpened', { accountId: 'a', balance: '0', currency: 'EUR' }, undefined, 0),
      await recordOf('FundsCredited', { accountId: 'a', amount: 'poison' }, undefined, 1),
      await recordOf('FundsCredited', { accountId: 'a', amount: '1' }, undefined, 2),
    ]
    expect(await deliver(records, one)).toEqual([expect.any(FoldFailedError)])
    expect(store.find('account_position', 'a')).toEqual({ ...open, balance: '1' })
    expect(await store.countQuarantined(positions)).toBe(0)
  })

  test('an event whose fold throws is dead again after a crash before its dead letter', async () => {
    const one = createProjector(balancesByPosition, { store, runtime })
    const records = [
      await recordOf('AccountOpened', { accountId: 'a', balance: '0', currency: 'EUR' }, undefined, 0),
      await recordOf('FundsCredited', { accountId: 'a', amount: 'poison' }, undefined, 1),
    ]
    await expect(handle(records, one)).rejects.toThrow(BatchProcessingError)
    // The process ends here: nothing was committed to the group.
    const heir = createProjector(balancesByPosition, { store, runtime })
    expect(await deliver(records, heir)).toEqual([expect.any(FoldFailedError)])
    expect(await store.positions(positions)).toEqual([{ topic: 'accounts', partition: 0, next: 1n }])
  })
})

test('a batch that fails once is applied to the table that is live by then', async () => {
  let isAway = false
  const own = createMemoryProjectionStore({
    async pause(step) {
      if (isAway && step === 'read') throw new RangeError('its table was dropped')
    },
  })
  const by = createProjector(balances, { store: own, runtime })
  const [first, second] = await history('a', [1])
  await handle([first as KafkaRecord], by)
  const [live] = await own.builds('account_balance')
  await own.transaction(async (tx) => {
    await tx.lock('account_balance', 'EXCLUSIVE')
    await tx.setState(live as NonNullable<typeof live>, 'RETIRED')
  })
  isAway = true
  await expect(handle([second as KafkaRecord], by)).rejects.toThrow('its table was dropped')
  isAway = false
  await handle([first, second] as KafkaRecord[], by)
  expect((await own.builds('account_balance')).map(({ state }) => state)).toEqual(['RETIRED', 'LIVE'])
  expect(own.find('account_balance', 'a')).toEqual({ ...open, balance: '1' })
})

test('a table that was created for other columns is not written, until the revision is raised', async () => {
  await handle(await history('a', [1]))
  const other = defineProjection({
    name: 'account_balance',
    events: accounts,
    state: account.pick({ balance: true }),
    columns: { balance: 'decimal' },
    keyColumn: 'account_id',
  }).on({ AccountOpened: (_, { payload }) => ({ balance: payload.balance }) })
  const by = createProjector(other, { store, runtime })
  await expect(handle([await recordOf('AccountClosed', { accountId: 'a' }, 3, 2)], by)).rejects.toThrow(
    /the live table was created for other columns or functions of revision 1/,
  )
  expect(await store.positions(build)).toMatchObject([{ next: 2n }])
})

describe('a revision', () => {
  const next = defineProjection({
    name: 'account_balance',
    revision: 2,
    events: accounts,
    state: account,
    columns: { balance: 'decimal', currency: 'text', status: 'text' },
  }).on({ AccountOpened: () => ({ balance: '99', currency: 'EUR', status: 'OPENED' }) })

  test('that is not live applies nothing, and its batch can be delivered again', async () => {
    await handle(await history('a', []))
    const records = await history('b', [], 1)
    await expect(handle(records, createProjector(next, { store, runtime }))).rejects.toThrow(RevisionMismatchError)
    expect(store.find('account_balance', 'b')).toBeUndefined()
  })

  test('that is not live yet applies the former one, if it has it', async () => {
    await handle(await history('a', []))
    await handle(await history('b', [], 1), createProjector(next, { store, previous: [balances], runtime }))
    expect(store.find('account_balance', 'b')).toEqual(open)
  })
})

test('S3-012 S3-013 S3-014 a binding blocks its partition while the database is away, and has the topics of the catalog', () => {
  expect(projector.binding({ groupId: 'balances', maxPollRecords: 100 })).toEqual({
    topic: ['accounts'],
    groupId: 'balances',
    preset: 'PROJECTION',
    listenerType: 'BATCH',
    maxPollRecords: 100,
    handler: projector,
  })
})
