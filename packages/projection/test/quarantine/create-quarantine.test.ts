import { BatchProcessingError } from '@waybill/connector'
import {
  type AuditEntry,
  applicationOperator,
  createMemoryLogger,
  OperationForbiddenError,
  runtimeWith,
  StateError,
} from '@waybill/core'
import type { KafkaRecord } from '@waybill/kafka'
import { beforeEach, describe, expect, test } from 'vitest'
import { FoldFailedError } from '../../src/definition/projection-errors.ts'
import { createMemoryProjectionStore, type MemoryProjectionStore } from '../../src/memory/memory-projection-store.ts'
import { createProjector, type Projector } from '../../src/projector/create-projector.ts'
import { createQuarantine, type ProjectionQuarantine } from '../../src/quarantine/create-quarantine.ts'
import { balances, balancesByPosition } from '../test-accounts.ts'
import { history, recordOf, strangeRecord } from '../test-records.ts'

type State = { balance: string; currency: string; status: 'OPENED' | 'CLOSED' }
const open: State = { balance: '0', currency: 'EUR', status: 'OPENED' }
const logger = createMemoryLogger()
const operator = applicationOperator()
let store: MemoryProjectionStore
let projector: Projector
let quarantine: ProjectionQuarantine<State>
let dead: KafkaRecord[]

beforeEach(() => {
  const runtime = runtimeWith({ logger })
  store = createMemoryProjectionStore()
  projector = createProjector(balances, { store, runtime })
  quarantine = createQuarantine(balances, { store, runtime })
  dead = []
})

/** Delivers records; those that fail become dead letters. */
async function deliver(records: readonly KafkaRecord[]): Promise<void> {
  for (let left = records; left.length > 0; ) {
    try {
      await projector.handleBatch(left, undefined as never)
      return
    } catch (error) {
      if (!(error instanceof BatchProcessingError)) throw error
      dead.push(left[error.failedIndex] as KafkaRecord)
      left = left.slice(error.failedIndex + 1)
    }
  }
}

async function* letters(records: readonly KafkaRecord[] = dead): AsyncGenerator<KafkaRecord> {
  yield* records
}

describe('a release', () => {
  test('C-48 applies the dead letters in the order of their versions, whatever their own order', async () => {
    const a = await history('a', [1, 2, 3, 4])
    const [opened, first, second, third, fourth] = a as [
      KafkaRecord,
      KafkaRecord,
      KafkaRecord,
      KafkaRecord,
      KafkaRecord,
    ]
    await deliver([opened, first, fourth, third, ...(await history('b', [7], 10))])
    expect((await quarantine.list({}, operator)).map(({ key }) => key)).toEqual(['a'])
    expect(await quarantine.preview('a', letters(), operator)).toEqual({
      key: 'a',
      found: [4, 5],
      missing: [3],
      isReady: false,
    })
    await expect(quarantine.release('a', letters(), operator)).rejects.toThrow(/version 3 is missing/)
    expect(store.find('account_balance', 'a')).toEqual({ ...open, balance: '1' })

    // The producer publishes the missing event again: it joins the other dead letters.
    await deliver([second])
    const shuffled = [strangeRecord(99), ...dead.toReversed(), ...dead]
    expect(await quarantine.preview('a', letters(shuffled), operator)).toMatchObject({ missing: [], isReady: true })
    expect(await quarantine.release('a', letters(shuffled), operator)).toBe(5)
    expect(store.find('account_balance', 'a')).toEqual({ ...open, balance: '10' })
    expect(await quarantine.list({}, operator)).toEqual([])

    dead = []
    await deliver([await recordOf('AccountClosed', { accountId: 'a' }, 6, 20)])
    expect([store.find('account_balance', 'a'), dead]).toEqual([{ ...open, balance: '10', status: 'CLOSED' }, []])
  })

  test('begins at the version of the row, which another consumer may have raised since', async () => {
    const [opened, first, second, third] = (await history('a', [1, 2, 3])) as [
      KafkaRecord,
      KafkaRecord,
      KafkaRecord,
      KafkaRecord,
    ]
    await deliver([opened, second])
    // It had read the row before the key was quarantined.
    const state = { ...open, balance: '1' }
    const table = { projection: 'account_balance', number: 1, keyColumn: 'account_id', columns: balances.columns }
    await store.transaction((tx) => tx.write(table, [{ key: 'a', version: 2, state, isQuarantined: false }]))
    await deliver([first, third])
    expect(await quarantine.preview('a', letters(), operator)).toMatchObject({ missing: [], isReady: true })
    expect(await quarantine.release('a', letters(), operator)).toBe(4)
    expect(store.find('account_balance', 'a')).toEqual({ ...open, balance: '6' })
  })

  test('waits for the dead letter of an event that came meanwhile', async () => {
    const [opened, , second] = (await history('a', [1, 2])) as [KafkaRecord, KafkaRecord, KafkaRecord]
    await deliver([opened, second])
    const missing = await recordOf('FundsCredited', { accountId: 'a', amount: '1' }, 2, 5)
    async function* slow(): AsyncGenerator<KafkaRecord> {
      yield* [missing, second]
      // The version is recorded before its dead letter is written.
      await deliver([await recordOf('AccountClosed', { accountId: 'a' }, 4, 6)])
    }
    await expect(quarantine.release('a', slow(), operator)).rejects.toThrow(/version 4 is missing/)
    expect(await quarantine.release('a', letters([missing, ...dead]), operator)).toBe(4)
  })

  test('of a poison event succeeds only once its fold does', async () => {
    await deliver([
      ...(await history('a', [])),
      await recordOf('FundsCredited', { accountId: 'a', amount: 'poison' }, 2, 1),
    ])
    await expect(quarantine.release('a', letters(), operator)).rejects.toThrow(FoldFailedError)
    expect((await quarantine.list({}, operator)).map(({ reason }) => reason)).toEqual(['POISON'])
  })

  test('of a key that is not quarantined is rejected', async () => {
    await deliver(await history('a', []))
    await expect(quarantine.release('a', letters(), operator)).rejects.toThrow(StateError)
    await expect(quarantine.preview('b', letters(), operator)).rejects.toThrow(/not quarantined/)
  })
})

/** Delivers a history of which one event is missing. */
async function deliverWithLoss(): Promise<void> {
  const a = await history('a', [1, 2])
  await deliver([a[0] as KafkaRecord, a[2] as KafkaRecord])
}

describe('an accepted row', () => {
  test('releases the key, and later events continue from it', async () => {
    await deliverWithLoss()
    const row = { version: 3, state: { ...open, balance: '3.50' }, reason: 'event 2 was never published' }
    await quarantine.accept('a', row, operator)
    expect(store.find('account_balance', 'a')).toEqual({ ...open, balance: '3.5' })
    await deliver([await recordOf('AccountClosed', { accountId: 'a' }, 4, 5)])
    expect(store.find('account_balance', 'a')).toEqual({ ...open, balance: '3.5', status: 'CLOSED' })
  })

  test('must match the schema, not be older than the row, and its key must be quarantined', async () => {
    await deliverWithLoss()
    const reason = 'test'
    const wrong = { ...open, status: 'GONE' } as never
    await expect(quarantine.accept('a', { version: 3, state: wrong, reason }, operator)).rejects.toThrow(
      /does not match its schema: status/,
    )
    await expect(quarantine.accept('a', { version: 0, state: open, reason }, operator)).rejects.toThrow(
      /is at version 1/,
    )
    await expect(quarantine.accept('b', { version: 3, state: open, reason }, operator)).rejects.toThrow(
      /not quarantined/,
    )
    expect((await quarantine.list({}, operator)).length).toBe(1)
  })
})

describe('an operator', () => {
  test('I21 needs a permission to read, release or accept, and the audit log has who did so and why', async () => {
    await deliverWithLoss()
    const asked: AuditEntry[] = []
    let mayAct = false
    const audited = createQuarantine(balances, {
      store,
      administration: {
        auditLog: { write: (entry) => void asked.push(entry) },
        permits: ({ by }) => by === 'anna' && mayAct,
      },
    })
    const anna = { by: 'anna', reason: 'ticket 7' }
    const row = { version: 3, state: { ...open, balance: '3' }, reason: 'event 2 was never published' }
    for (const refused of [
      () => audited.list({}, anna),
      () => audited.preview('a', letters(), anna),
      () => audited.release('a', letters(), anna),
      () => audited.accept('a', row, anna),
    ])
      await expect(refused()).rejects.toThrow(OperationForbiddenError)
    expect(store.find('account_balance', 'a')).toEqual(open)
    expect(asked.map(({ operation, outcome }) => `${operation} ${outcome}`)).toEqual([
      'READ_QUARANTINE REFUSED',
      'READ_QUARANTINE REFUSED',
      'RELEASE_KEY REFUSED',
      'ACCEPT_ROW REFUSED',
    ])

    mayAct = true
    asked.length = 0
    await expect(audited.release('a', letters(), anna)).rejects.toThrow(/version 2 is missing/)
    await audited.accept('a', row, anna)
    expect(asked).toMatchObject([
      { operation: 'RELEASE_KEY', outcome: 'ASKED', target: 'account_balance', by: 'anna', reason: 'ticket 7' },
      { operation: 'RELEASE_KEY', outcome: 'FAILED' },
      { operation: 'ACCEPT_ROW', outcome: 'ASKED', request: { key: 'a', version: 3, reason: row.reason } },
      { operation: 'ACCEPT_ROW', outcome: 'DONE', detail: { before: 1 } },
    ])
  })
})

test('a projection by position is refused: its keys are never quarantined', () => {
  expect(() => createQuarantine(balancesByPosition, { store })).toThrow(
    "createQuarantine: projection account_position has versions: 'POSITION'",
  )
})

test('a preview also lists what is missing before an event that only the dead letters have', async () => {
  const a = await history('a', [1, 2, 3, 4, 5])
  await deliver([a[0], a[2]] as KafkaRecord[])
  const preview = await quarantine.preview('a', letters([a[1], a[2], a[5]] as KafkaRecord[]), operator)
  expect(preview).toEqual({ key: 'a', found: [2, 3, 6], missing: [4, 5], isReady: false })
})

test('a release whose table is replaced while it reads dead letters changes nothing', async () => {
  const a = await history('a', [1, 2])
  await deliver([a[0], a[2]] as KafkaRecord[])
  async function* switching(): AsyncGenerator<KafkaRecord> {
    yield* a
    await store.transaction(async (tx) => {
      const [live] = await tx.lock('account_balance', 'EXCLUSIVE')
      await tx.setState({ projection: 'account_balance', number: 1 }, 'RETIRED')
      const { revision, fingerprint } = live as NonNullable<typeof live>
      await tx.addBuild({ projection: 'account_balance', number: 2, revision, fingerprint, state: 'LIVE' })
    })
  }
  await expect(quarantine.release('a', switching(), operator)).rejects.toThrow(/is not quarantined/)
  expect(await store.countQuarantined({ projection: 'account_balance', number: 1 })).toBe(1)
})
