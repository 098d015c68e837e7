import {
  ArgumentError,
  createMemoryLogger,
  type EventEnvelope,
  NoTransactionError,
  StateError,
  type TxContext,
} from '@waybill/core'
import type { WriterHook } from '@waybill/outbox/internal'
import { createVirtualRuntime } from '@waybill/sim'
import { describe, expect, test } from 'vitest'
import type { HotPath } from '../../src/write/hot-path.ts'
import { createAmbientWriter, createRowWriter, type RowWriterDeps } from '../../src/write/writer.ts'
import { MemoryOutbox } from '../support/memory-outbox.ts'
import { orderEvent } from '../support/outbox-harness.ts'

const failure = new StateError('no')

function writing(parts: Partial<RowWriterDeps> = {}) {
  const trail: string[] = []
  const logger = createMemoryLogger()
  const runtime = createVirtualRuntime(1, { logger })
  const outbox = new MemoryOutbox(runtime)
  outbox.before = (call) => void trail.push(call)
  const dropped: number[] = []
  const writeRows = createRowWriter({
    store: outbox.store,
    telemetry: { hotDropped: (count) => void dropped.push(count) },
    name: 'outbox',
    runtime,
    ...parts,
  })
  let id = 0
  const writer = createAmbientWriter(outbox.ambient, writeRows, { clock: runtime.clock, nextId: () => `id-${++id}` })
  return { trail, logger, outbox, writer, writeRows, dropped }
}

function recordingHook(trail: string[], parts: WriterHook = {}): WriterHook {
  const step = (name: string) => () => void trail.push(name)
  return {
    beforeWrite: (events) => {
      trail.push('beforeWrite')
      return events
    },
    afterWrite: step('afterWrite'),
    afterCommit: step('afterCommit'),
    afterRollback: step('afterRollback'),
    ...parts,
  }
}

function hotPathOf(trail: string[]): HotPath {
  return {
    reserve: (events) => {
      trail.push(`reserve ${events.length}`)
      return {
        lease: { owner: 'me', version: 1n, timeoutMs: 60_000 },
        commit: ({ seqs }) => void trail.push(`commit ${seqs.join(' ')}`),
        cancel: (inDoubt) => void trail.push(['cancel', ...inDoubt].join(' ')),
      }
    },
  }
}

describe('a write', () => {
  test("is part of the caller's transaction, and answers the id", async () => {
    const { outbox, writer } = writing()
    const id = await outbox.transaction(() => writer.write(orderEvent(1)))
    expect(id).toBe('event-1')
    expect(outbox.rows.map(({ status, attempts, lockedBy }) => [status, attempts, lockedBy])).toEqual([
      ['NEW', 0, null],
    ])
  })

  test('takes a type and a JSON text as well', async () => {
    const { outbox, writer } = writing()
    await outbox.transaction(() => writer.write('order.placed', '{"total":3}'))
    await outbox.transaction(() => writer.write({ name: 'order.cancelled' }, '{}'))
    expect(outbox.rows.map(({ event }) => [event.eventId, event.eventType, event.payloadJson])).toEqual([
      ['id-1', 'order.placed', '{"total":3}'],
      ['id-2', 'order.cancelled', '{}'],
    ])
  })

  test('of an event that no listener could carry on is refused, and nothing is reserved or sent', async () => {
    const trail: string[] = []
    const check = (event: EventEnvelope): void => {
      if (event.eventId === 'event-2') throw failure
    }
    const { outbox, writer } = writing({ check, hotPath: hotPathOf(trail) })
    await expect(outbox.transaction(() => writer.writeAll([orderEvent(1), orderEvent(2)]))).rejects.toBe(failure)
    expect([trail, outbox.calls]).toEqual([[], []])
  })

  test('of many events is one statement, and answers their ids in order', async () => {
    const { outbox, writer, trail } = writing()
    const ids = await outbox.transaction(() => writer.writeAll([orderEvent(1), orderEvent(2), orderEvent(3)]))
    expect(ids).toEqual(['event-1', 'event-2', 'event-3'])
    expect(trail).toEqual(['insertNew'])
  })

  test('is not affected by what becomes of the array it was given', async () => {
    const told: string[] = []
    const { outbox, writer } = writing({
      hook: { afterCommit: (events) => void told.push(...events.map(({ eventId }) => eventId)) },
    })
    const batch = [orderEvent(1), orderEvent(2)]
    await outbox.transaction(async () => {
      await writer.writeAll(batch)
      batch.length = 0
    })
    expect(told).toEqual(['event-1', 'event-2'])
  })

  test('of no events does nothing', async () => {
    const { outbox, writer, trail } = writing()
    expect(await outbox.transaction(() => writer.writeAll([]))).toEqual([])
    expect(trail).toEqual([])
  })

  test('that is rolled back leaves nothing', async () => {
    const { outbox, writer } = writing()
    const rolledBack = outbox.transaction(async () => {
      await writer.write(orderEvent(1))
      throw failure
    })
    await expect(rolledBack).rejects.toBe(failure)
    expect(outbox.rows).toEqual([])
  })

  test('without a transaction is refused, also of no events', async () => {
    const { writer } = writing()
    await expect(writer.write(orderEvent(1))).rejects.toBeInstanceOf(NoTransactionError)
    await expect(writer.writeAll([])).rejects.toThrow('No active transaction')
  })

  describe('of what is no event', () => {
    const headless = { ...orderEvent(1), headers: undefined }
    test.each<[string, unknown, string]>([
      ['null', [null], 'An event to write must be an envelope, got null.'],
      ['undefined', [undefined], 'An event to write must be an envelope, got undefined.'],
      ['a number', [orderEvent(1), 5], 'An event to write must be an envelope, got 5.'],
      ['an empty object', [{}], 'An event to write must be an envelope, got an object.'],
      [
        'an id that is no text',
        [{ ...orderEvent(1), eventId: 5 }],
        'An event to write must be an envelope, got an object.',
      ],
      ['an envelope without headers', [headless], 'An event to write must be an envelope, got an object.'],
      ['no list', 'order.placed', 'writeAll expects a list of events, got "order.placed".'],
      ['nothing', undefined, 'writeAll expects a list of events, got undefined.'],
    ])('as %s, is refused before anything is reserved or sent', async (_, given, problem) => {
      const trail: string[] = []
      const { outbox, writer } = writing({ hotPath: hotPathOf(trail) })
      const refused = outbox.transaction(() => writer.writeAll(given as EventEnvelope[]))
      const error = await refused.catch((thrown: unknown) => thrown)
      expect(error).toBeInstanceOf(ArgumentError)
      expect((error as Error).message).toContain(problem)
      expect([trail, outbox.calls]).toEqual([[], []])
    })

    test.each([
      [null, undefined],
      [undefined, undefined],
      [5, '{}'],
      [{}, '{}'],
      ['order.placed', undefined],
      ['order.placed', { total: 3 }],
    ])('as a single %o with %o is refused as well', async (event, payloadJson) => {
      const { outbox, writer } = writing()
      const refused = outbox.transaction(() => writer.write(event as never, payloadJson as never))
      await expect(refused).rejects.toBeInstanceOf(ArgumentError)
    })

    test('from a hook that forgot to answer, is refused', async () => {
      const { outbox, writer } = writing({ hook: { beforeWrite: () => undefined as never } })
      const refused = outbox.transaction(() => writer.write(orderEvent(1)))
      await expect(refused).rejects.toThrow('beforeWrite must return a list of events or null, got undefined.')
    })
  })
})

describe('a hook', () => {
  test('is called in order, once for a batch: beforeWrite, insert, afterWrite, then the end', async () => {
    const trail: string[] = []
    const { outbox, writer, trail: calls } = writing({ hook: recordingHook(trail) })
    outbox.before = (call) => void trail.push(call)
    await outbox.transaction(async () => {
      await writer.writeAll([orderEvent(1), orderEvent(2)])
      trail.push('commit')
    })
    expect(trail).toEqual(['beforeWrite', 'insertNew', 'afterWrite', 'commit', 'afterCommit'])
    expect(calls).toEqual([])
  })

  test('is told of a rollback', async () => {
    const trail: string[] = []
    const { outbox, writer } = writing({ hook: recordingHook(trail) })
    const rolledBack = outbox.transaction(async () => {
      await writer.write(orderEvent(1))
      throw failure
    })
    await expect(rolledBack).rejects.toBe(failure)
    expect(trail).toEqual(['beforeWrite', 'afterWrite', 'afterRollback'])
  })

  test('may change the events', async () => {
    const { outbox, writer } = writing({ hook: { beforeWrite: () => [orderEvent(7), orderEvent(8)] } })
    expect(await outbox.transaction(() => writer.writeAll([orderEvent(1)]))).toEqual(['event-7', 'event-8'])
    expect(outbox.rows.map(({ event }) => event.eventId)).toEqual(['event-7', 'event-8'])
  })

  test.each([[null], [[]]])(
    'suppresses the write with %j: null for one event, none for many, no further step',
    async (answer) => {
      const trail: string[] = []
      const { outbox, writer, trail: calls } = writing({ hook: recordingHook(trail, { beforeWrite: () => answer }) })
      expect(await outbox.transaction(() => writer.write(orderEvent(1)))).toBe(null)
      expect(await outbox.transaction(() => writer.writeAll([orderEvent(1)]))).toEqual([])
      expect([trail, calls]).toEqual([[], []])
    },
  )

  test('that throws before the write aborts it', async () => {
    const { outbox, writer, trail } = writing({ hook: { beforeWrite: () => Promise.reject(failure) } })
    await expect(outbox.transaction(() => writer.write(orderEvent(1)))).rejects.toBe(failure)
    expect(trail).toEqual([])
  })

  test.each(['afterWrite', 'afterCommit'] as const)(
    'that throws in %s is logged, and the write stands',
    async (step) => {
      const hook: WriterHook = {
        [step]: () => {
          throw failure
        },
      }
      const { outbox, writer, logger } = writing({ hook })
      expect(await outbox.transaction(() => writer.write(orderEvent(1)))).toBe('event-1')
      expect(outbox.rows.length).toBe(1)
      expect(logger.lines.map(({ level, fields }) => [level, fields['step'], fields['err']])).toEqual([
        ['ERROR', step, failure],
      ])
    },
  )

  test('that throws after a rollback is logged', async () => {
    const hook: WriterHook = {
      afterRollback: () => {
        throw failure
      },
    }
    const { outbox, writer, logger } = writing({ hook })
    const rolledBack = outbox.transaction(async () => {
      await writer.write(orderEvent(1))
      throw new StateError('business')
    })
    await expect(rolledBack).rejects.toThrow('business')
    expect(logger.lines.length).toBe(1)
  })

  test('that is absent registers nothing with the transaction', async () => {
    const { outbox, writeRows } = writing()
    const { tx, commit } = outbox.open()
    const context: TxContext = {
      ...tx.context,
      afterCommit: () => expect.unreachable(),
      afterRollback: () => expect.unreachable(),
    }
    await writeRows(context, [orderEvent(1)])
    commit()
    expect(outbox.rows.length).toBe(1)
  })
})

describe('the hot path', () => {
  test('reserves before the insert, which is already claimed, and is told of the commit once for the batch', async () => {
    const trail: string[] = []
    const { outbox, writer } = writing({ hotPath: hotPathOf(trail) })
    outbox.before = (call) => void trail.push(call)
    await outbox.transaction(() => writer.writeAll([orderEvent(1), orderEvent(2)]))
    expect(trail).toEqual(['reserve 2', 'insertNew', 'commit 1 2'])
    expect(outbox.rows.map(({ lockedBy, version }) => [lockedBy, version])).toEqual([
      ['me', 1n],
      ['me', 1n],
    ])
  })

  test('is told of a rollback', async () => {
    const trail: string[] = []
    const { outbox, writer } = writing({ hotPath: hotPathOf(trail) })
    const rolledBack = outbox.transaction(async () => {
      await writer.write(orderEvent(1))
      throw failure
    })
    await expect(rolledBack).rejects.toBe(failure)
    expect(trail).toEqual(['reserve 1', 'cancel'])
  })

  test('is told which rows may be there after all when the commit was not answered', async () => {
    const trail: string[] = []
    const { outbox, writeRows } = writing({ hotPath: hotPathOf(trail) })
    const { tx, commitInDoubt } = outbox.open()
    await writeRows(tx.context, [orderEvent(1), orderEvent(2)])
    commitInDoubt()
    expect(trail).toEqual(['reserve 2', 'cancel 1 2'])
  })

  test('gets its places back when the insert fails', async () => {
    const trail: string[] = []
    const { outbox, writer } = writing({ hotPath: hotPathOf(trail) })
    outbox.before = () => {
      throw failure
    }
    await expect(outbox.transaction(() => writer.write(orderEvent(1)))).rejects.toBe(failure)
    expect(trail).toEqual(['reserve 1', 'cancel'])
  })

  test('without room counts the drop when the transaction commits, and the row is not claimed', async () => {
    const { outbox, writer, dropped } = writing({ hotPath: { reserve: () => 'FULL' } })
    const rolledBack = outbox.transaction(async () => {
      await writer.write(orderEvent(1))
      throw failure
    })
    await expect(rolledBack).rejects.toBe(failure)
    expect(dropped).toEqual([])
    await outbox.transaction(() => writer.writeAll([orderEvent(1), orderEvent(2)]))
    expect([dropped, outbox.rows.map(({ lockedBy }) => lockedBy)]).toEqual([[2], [null, null]])
  })

  test.each([
    ['its end is not seen', { endIsSeen: false }, null],
    ['its events are delayed', { endIsSeen: true }, Date.UTC(2027, 0, 1)],
  ])('is not for a transaction when %s', async (_, seen, availableAt) => {
    const { outbox, writeRows } = writing({ hotPath: { reserve: () => expect.unreachable() } })
    const { tx, commit } = outbox.open()
    await writeRows({ ...tx.context, ...seen }, [orderEvent(1)], availableAt)
    commit()
    expect(outbox.rows.map(({ lockedBy, status }) => [lockedBy, status])).toEqual([
      [null, availableAt === null ? 'NEW' : 'RETRY'],
    ])
  })
})
