import {
  type AuditEntry,
  AuditUnwritableError,
  applicationOperator,
  createEnvelope,
  createMemoryLogger,
  OperationForbiddenError,
  OptionsError,
  runtimeWith,
} from '@waybill/core'
import { createDeadEvents, type DeadEventsOptions } from '@waybill/outbox'
import { createVirtualRuntime } from '@waybill/sim'
import { describe, expect, test } from 'vitest'
import { MemoryOutbox } from '../support/memory-outbox.ts'

const alice = { by: 'alice' }

/** A value that untyped code may pass. */
const wrong = (value: object): never => value as never

function setup(options: Pick<DeadEventsOptions, 'throwOnError' | 'outbox' | 'administration'> = {}) {
  const logger = createMemoryLogger()
  const table = new MemoryOutbox(createVirtualRuntime(1))
  const dead = createDeadEvents({
    database: table,
    store: table.store,
    administration: { auditLog: { write: () => {} }, permits: () => true },
    runtime: runtimeWith({ logger }),
    ...options,
  })
  /** Puts dead events into the table. */
  const die = (count: number, eventType = 'placed', aggregateType = 'order'): string[] =>
    Array.from({ length: count }, () => {
      const [row] = table.add(createEnvelope({ eventType, aggregateType, payloadJson: '{}' }))
      Object.assign(row as object, { status: 'DEAD', attempts: 10, lastError: 'no', doneAt: 1, lockedBy: 'x' })
      return row?.event.eventId as string
    })
  return { table, dead, die, logger }
}

describe('dead events', () => {
  test('S1-118 are found oldest first, by type and aggregate type, and counted', async () => {
    const { dead, die } = setup()
    const placed = die(3)
    const others = die(2, 'cancelled', 'basket')
    expect((await dead.query({ limit: 2 }, alice)).map(({ eventId }) => eventId)).toEqual(placed.slice(0, 2))
    expect((await dead.query({ limit: 9, eventType: 'cancelled' }, alice)).map(({ eventId }) => eventId)).toEqual(
      others,
    )
    expect((await dead.query({ limit: 9, aggregateType: 'order' }, alice)).map(({ eventId }) => eventId)).toEqual(
      placed,
    )
    expect(await dead.count({}, alice)).toBe(5)
    expect(await dead.count({ eventType: 'cancelled' }, alice)).toBe(2)
  })

  test('are not asked for by what is misspelt or of no use, and nothing is replayed', async () => {
    const { dead, die, table } = setup()
    die(2)
    await expect(dead.replayAll(wrong({ type: 'placed' }), alice)).rejects.toThrow(/type is not an option/)
    await expect(dead.count(wrong({ event: 'placed' }), alice)).rejects.toThrow(OptionsError)
    await expect(dead.query(wrong({ eventType: 'placed' }), alice)).rejects.toThrow(/limit is required/)
    await expect(dead.query({ limit: -1 }, alice)).rejects.toThrow(OptionsError)
    await expect(dead.query(wrong({ limit: '10' }), alice)).rejects.toThrow(OptionsError)
    await expect(dead.replay(wrong({ eventId: 'x' }), alice)).rejects.toThrow(OptionsError)
    expect(table.withStatus('DEAD')).toHaveLength(2)
  })

  test('S1-119 one is replayed with all its attempts before it, and only while it is DEAD', async () => {
    const { dead, die, table } = setup()
    const [id = ''] = die(1)
    expect(await dead.replay(id, alice)).toBe(true)
    expect(table.rows[0]).toMatchObject({ status: 'NEW', attempts: 0, lastError: null, doneAt: null, lockedBy: null })
    expect(await dead.replay(id, alice)).toBe(false)
    expect(await dead.replay('unknown', alice)).toBe(false)
  })

  test('S1-120 all that match are replayed, in batches', async () => {
    const { dead, die, table } = setup()
    die(7)
    die(2, 'cancelled')
    expect(await dead.replayAll({ eventType: 'placed', batchSize: 3 }, alice)).toBe(7)
    expect(table.withStatus('DEAD')).toHaveLength(2)
    expect(table.calls.filter((call) => call === 'replayDead')).toHaveLength(3)
  })

  test('S1-122 one that dies again at once is not replayed again, so it ends', async () => {
    const { dead, die, table } = setup()
    die(5)
    table.after = (call) => {
      if (call === 'replayDead') for (const row of table.withStatus('NEW')) row.status = 'DEAD'
    }
    expect(await dead.replayAll({ batchSize: 2 }, alice)).toBe(5)
    expect(table.calls.filter((call) => call === 'replayDead')).toHaveLength(3)
  })

  test('S1-122 a batch of which nothing was DEAD any more ends it', async () => {
    const { dead, die, table } = setup()
    die(6)
    table.before = (call) => {
      if (call === 'replayDead') for (const row of table.withStatus('DEAD')) row.status = 'NEW'
    }
    expect(await dead.replayAll({ batchSize: 2 }, alice)).toBe(0)
    expect(table.calls.filter((call) => call === 'replayDead')).toHaveLength(1)
  })

  test('the outbox is notified of replayed events, once per call, and of nothing else', async () => {
    let looks = 0
    const { dead, die } = setup({ outbox: { lookNow: () => void looks++ } })
    const [id = ''] = die(5)
    await dead.query({ limit: 1 }, alice)
    await dead.count({}, alice)
    await dead.replay('unknown', alice)
    expect(looks).toBe(0)
    await dead.replay(id, alice)
    expect(looks).toBe(1)
    await dead.replayAll({ batchSize: 2 }, alice)
    expect(looks).toBe(2)
    await dead.replayAll({}, alice)
    expect(looks).toBe(2)
  })

  test('S1-122 a batch size below 1 is refused', async () => {
    await expect(setup().dead.replayAll({ batchSize: 0 }, alice)).rejects.toThrow(OptionsError)
  })
})

describe('an operator of dead events', () => {
  test('I21 needs a permission for each of them, and the program itself does not', async () => {
    const entries: AuditEntry[] = []
    const { dead, die, table } = setup({ administration: { auditLog: { write: (entry) => void entries.push(entry) } } })
    const [id = ''] = die(2)
    for (const asked of [
      () => dead.query({ limit: 1 }, alice),
      () => dead.count({}, alice),
      () => dead.replay(id, alice),
      () => dead.replayAll({}, alice),
    ])
      await expect(asked()).rejects.toThrow(OperationForbiddenError)
    expect(table.withStatus('DEAD')).toHaveLength(2)
    expect(entries.map(({ outcome }) => outcome)).toEqual(['REFUSED', 'REFUSED', 'REFUSED', 'REFUSED'])
    expect(await dead.replayAll({}, applicationOperator('nightly'))).toBe(2)
  })

  test('I21 leaves entries with what was replayed, also of a replay that stopped halfway', async () => {
    const entries: AuditEntry[] = []
    const administration = { auditLog: { write: (entry: AuditEntry) => void entries.push(entry) }, permits: () => true }
    const { dead, die, table } = setup({ administration })
    die(4)
    let replays = 0
    table.before = (call) => {
      if (call === 'replayDead' && replays++ === 1) failing()
    }
    await dead.replayAll({ eventType: 'placed', batchSize: 2 }, { by: 'alice', reason: 'ticket 7' })
    expect(entries).toMatchObject([
      { operation: 'REPLAY_DEAD_EVENTS', target: 'outbox', by: 'alice', reason: 'ticket 7', outcome: 'ASKED' },
      { request: { eventType: 'placed', batchSize: 2 }, outcome: 'FAILED', detail: { replayed: 2 }, scope: 'FLEET' },
    ])
  })

  test('I21 replays nothing when the request cannot be audited, whatever throwOnError says', async () => {
    const { dead, die, table } = setup({ administration: { auditLog: { write: failing }, permits: () => true } })
    const [id = ''] = die(1)
    await expect(dead.replay(id, alice)).rejects.toThrow(AuditUnwritableError)
    expect(table.withStatus('DEAD')).toHaveLength(1)
  })
})

function failing(): never {
  throw new Error('down')
}

describe('when the database fails', () => {
  test('S1-121 it is logged, and the answer is as if there were none', async () => {
    const { dead, table, logger, die } = setup()
    die(1)
    table.before = failing
    expect(await dead.query({ limit: 1 }, alice)).toEqual([])
    expect(await dead.count({}, alice)).toBe(0)
    expect(await dead.replay('x', alice)).toBe(false)
    expect(await dead.replayAll({}, alice)).toBe(0)
    expect(logger.lines.filter(({ level }) => level === 'ERROR')).toHaveLength(4)
  })

  test('S1-121 what was replayed before it is counted', async () => {
    const { dead, table, die } = setup()
    die(4)
    let replays = 0
    table.before = (call) => {
      if (call === 'replayDead' && replays++ === 1) failing()
    }
    expect(await dead.replayAll({ batchSize: 2 }, alice)).toBe(2)
  })

  test('C-31 with throwOnError it is thrown', async () => {
    const { dead, table } = setup({ throwOnError: true })
    table.before = failing
    await expect(dead.query({ limit: 1 }, alice)).rejects.toThrow('down')
    await expect(dead.count({}, alice)).rejects.toThrow('down')
    await expect(dead.replay('x', alice)).rejects.toThrow('down')
    await expect(dead.replayAll({}, alice)).rejects.toThrow('down')
  })
})
