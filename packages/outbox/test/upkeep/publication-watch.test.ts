import { ArgumentError, OptionsError, StateError } from '@waybill/core'
import { type UncommittedEnd } from '@waybill/core/internal'
import { EventDeadError, EventRolledBackError, Outbox, PublishedUnknownError } from '@waybill/outbox'
import { type WhenDone } from '@waybill/outbox/internal'
import { createVirtualRuntime } from '@waybill/sim'
import { describe, expect, test } from 'vitest'
import { PublicationWatch } from '../../src/upkeep/publication-watch.ts'
import { MemoryOutbox } from '../support/memory-outbox.ts'
import { createHarness, orderEvent } from '../support/outbox-harness.ts'

const deadlineMs = 5_000

function watching(whenDone: WhenDone = 'KEEP') {
  const runtime = createVirtualRuntime(1)
  const outbox = new MemoryOutbox(runtime)
  const watch = new PublicationWatch({ database: outbox, store: outbox.store, whenDone, runtime })
  const looks = () => outbox.calls.filter((call) => call === 'statusOf').length
  return { runtime, outbox, watch, looks }
}

/** Writes an event, and tells how its transaction ended. */
function endWrite(watch: PublicationWatch, n: number, end: UncommittedEnd | 'COMMITTED' | 'UNSURE'): void {
  const events = [orderEvent(n)]
  watch.opened(events)
  if (end === 'COMMITTED' || end === 'UNSURE') watch.committed(events, end === 'COMMITTED')
  else watch.notCommitted(events, end)
}

describe('an event written here', () => {
  test('that is settled here is answered at once, without a look at the table', async () => {
    const { runtime, watch, looks } = watching()
    endWrite(watch, 1, 'COMMITTED')
    runtime.timers.schedule(3, () => watch.finished('event-1', 'DONE'))
    await runtime.run(() => watch.published('event-1', { deadlineMs }))
    expect([runtime.clock.monotonic(), looks()]).toEqual([3, 0])
  })

  test('that was settled before the question is answered as well', async () => {
    const { watch, looks } = watching()
    endWrite(watch, 1, 'COMMITTED')
    watch.finished('event-1', 'DONE')
    await watch.published('event-1', { deadlineMs })
    expect(looks()).toBe(0)
  })

  test('that died here is looked up: it may have been replayed, and delivered by another node', async () => {
    const { runtime, outbox, watch } = watching()
    for (const [n, status] of [
      [1, 'DEAD'],
      [2, 'DONE'],
    ] as const) {
      Object.assign(outbox.add(orderEvent(n))[0] as object, { status })
      endWrite(watch, n, 'COMMITTED')
      watch.finished(`event-${n}`, 'DEAD')
    }
    await runtime.run(async () => {
      await expect(watch.published('event-1', { deadlineMs })).rejects.toBeInstanceOf(EventDeadError)
      await watch.published('event-2', { deadlineMs })
    })
  })

  test('that dies here while a caller waits rejects at once, with the failure of its listener', async () => {
    const { runtime, outbox, watch } = watching()
    endWrite(watch, 1, 'COMMITTED')
    runtime.timers.schedule(300, () => {
      Object.assign(outbox.add(orderEvent(1))[0] as object, { status: 'DEAD', lastError: 'Error: no such topic.' })
      watch.finished('event-1', 'DEAD')
    })
    const asked = runtime.run(() => watch.published('event-1', { deadlineMs }))
    const error = await asked.then(
      () => undefined,
      (thrown: unknown) => thrown,
    )
    expect(error).toMatchObject({ code: 'WAYBILL_EVENT_DEAD', eventId: 'event-1', lastError: 'Error: no such topic.' })
    expect((error as Error).message).toContain('Last failure: Error: no such topic.')
    expect(runtime.clock.monotonic()).toBe(300)
  })

  test('is refused at once inside its own transaction', async () => {
    const { watch } = watching()
    watch.opened([orderEvent(1)])
    await expect(watch.published('event-1', { deadlineMs })).rejects.toThrow('inside the transaction that writes it')
  })

  test('that was rolled back is said to be', async () => {
    const { watch } = watching()
    endWrite(watch, 1, 'ROLLED_BACK')
    await expect(watch.published('event-1', { deadlineMs })).rejects.toBeInstanceOf(EventRolledBackError)
  })

  test('whose commit was not answered is looked for in the table, and never said to be rolled back', async () => {
    const { runtime, outbox, watch } = watching()
    endWrite(watch, 1, 'UNKNOWN')
    Object.assign(outbox.add(orderEvent(1))[0] as object, { status: 'DONE' })
    await runtime.run(() => watch.published('event-1', { deadlineMs }))
    expect(outbox.calls).toEqual(['statusOf'])
  })

  test('and deleted by another node counts as delivered, because its commit was seen', async () => {
    const { runtime, watch } = watching('DELETE')
    endWrite(watch, 1, 'COMMITTED')
    await runtime.run(() => watch.published('event-1', { deadlineMs }))
    expect(runtime.clock.monotonic()).toBeLessThan(deadlineMs)
  })

  test('and gone is unknown where a savepoint may have undone it, also to who asked before the commit', async () => {
    const { runtime, watch } = watching('DELETE')
    await runtime.run(async () => {
      const asked = watch.published('event-1', { deadlineMs })
      endWrite(watch, 1, 'UNSURE')
      await expect(asked).rejects.toBeInstanceOf(PublishedUnknownError)
      await expect(watch.published('event-1', { deadlineMs })).rejects.toBeInstanceOf(PublishedUnknownError)
    })
  })

  test('that a savepoint may have undone is delivered once it is settled here, or was seen and is gone', async () => {
    const { runtime, outbox, watch } = watching('DELETE')
    for (const n of [1, 2]) endWrite(watch, n, 'UNSURE')
    watch.finished('event-1', 'DONE')
    outbox.add(orderEvent(2))
    runtime.timers.schedule(1_000, () => void outbox.rows.pop())
    await runtime.run(async () => {
      await watch.published('event-1', { deadlineMs })
      await watch.published('event-2', { deadlineMs })
    })
  })
})

describe('any other event', () => {
  test('is asked for in the table, at growing distances, until it is DONE', async () => {
    const { runtime, outbox, watch, looks } = watching()
    const [row] = outbox.add(orderEvent(1))
    runtime.timers.schedule(3_000, () => Object.assign(row as object, { status: 'DONE' }))
    await runtime.run(() => watch.published('event-1', { deadlineMs }))
    expect(runtime.clock.monotonic()).toBeGreaterThanOrEqual(3_000)
    expect(runtime.clock.monotonic()).toBeLessThanOrEqual(4_000)
    expect(looks()).toBeLessThan(12)
  })

  test('that is DEAD there is said to be', async () => {
    const { runtime, outbox, watch } = watching()
    Object.assign(outbox.add(orderEvent(1))[0] as object, { status: 'DEAD' })
    await expect(runtime.run(() => watch.published('event-1', { deadlineMs }))).rejects.toBeInstanceOf(EventDeadError)
  })

  test('whose row was seen and is gone was delivered, where done rows are deleted', async () => {
    const { runtime, outbox, watch } = watching('DELETE')
    outbox.add(orderEvent(1))
    runtime.timers.schedule(1_000, () => void outbox.rows.pop())
    await runtime.run(() => watch.published('event-1', { deadlineMs }))
  })

  test('is looked for at once where done rows are deleted: a look that comes too late sees nothing', async () => {
    const { runtime, outbox, watch, looks } = watching('DELETE')
    outbox.add(orderEvent(1))
    runtime.timers.schedule(1, () => void outbox.rows.pop())
    await runtime.run(() => watch.published('event-1', { deadlineMs }))
    expect(looks()).toBe(2)
  })

  test.each(['KEEP', 'DELETE'] as const)('that was never seen is unknown at the deadline (%s)', async (whenDone) => {
    const { runtime, watch } = watching(whenDone)
    await expect(runtime.run(() => watch.published('event-1', { deadlineMs }))).rejects.toBeInstanceOf(
      PublishedUnknownError,
    )
    expect(runtime.clock.monotonic()).toBe(deadlineMs)
  })

  test('is asked for again when the database does not answer', async () => {
    const { runtime, outbox, watch } = watching()
    Object.assign(outbox.add(orderEvent(1))[0] as object, { status: 'DONE' })
    let failures = 3
    outbox.before = () => {
      if (failures-- > 0) throw new StateError('the database is away')
    }
    await runtime.run(() => watch.published('event-1', { deadlineMs }))
    expect(failures).toBeLessThan(0)
  })
})

test('an event that the hook suppressed has nothing to wait for', async () => {
  const { watch } = watching()
  await watch.published(null, { deadlineMs })
})

test('a deadline is needed', async () => {
  const { watch } = watching()
  await expect(watch.published('event-1', {} as never)).rejects.toBeInstanceOf(OptionsError)
})

test.each([
  ['NUL, which blinds a whole look on PostgreSQL', 'event-\u0000', 'contains the NUL character'],
  ['half a surrogate pair', 'event-\ud800', 'holds half a surrogate pair'],
  ['more characters than an id has', 'e'.repeat(37), 'has more than 36 characters'],
  ['no text', 5, 'is text, not 5'],
  ['nothing', undefined, 'is text, not undefined'],
])('an id of %s is rejected without a query', async (_, id, problem) => {
  const { runtime, watch, looks } = watching()
  const asked = runtime.run(() => watch.published(id as string, { deadlineMs }))
  const error = await asked.catch((thrown: unknown) => thrown)
  expect(error).toBeInstanceOf(ArgumentError)
  expect((error as Error).message).toContain(problem)
  expect([looks(), runtime.clock.monotonic()]).toEqual([0, 0])
})

test('callers with different deadlines wait each for its own, in one look for all', async () => {
  const { runtime, watch, outbox } = watching()
  const ended: number[] = []
  await runtime.run(async () => {
    const waits = [300, 100, 200].map(async (ms, n) => {
      await watch.published(`event-${n}`, { deadlineMs: ms }).catch(() => {})
      ended.push(runtime.clock.monotonic())
    })
    await Promise.all(waits)
  })
  expect(ended).toEqual([100, 200, 300])
  expect(outbox.calls.length).toBeLessThan(8)
  expect(runtime.pending).toBe(0)
})

test('an outbox that was not started is named as the reason, and one that runs is not', async () => {
  const harness = createHarness()
  const outbox = Outbox.multiNode({ ...harness.base, claimLocking: { owner: 'node', timeoutMs: 60_000 } })
  await harness.runtime.run(async () => {
    const created = outbox.published('event-1', { deadlineMs })
    await expect(created).rejects.toThrow('the deadline has passed, and this outbox is CREATED: start() it first.')
    await outbox.start()
    await expect(outbox.published('event-1', { deadlineMs })).rejects.toThrow('not confirmed: the deadline has passed.')
    await outbox.stop()
  })
})

test('a database that does not respond keeps no caller waiting past the deadline', async () => {
  const { runtime, outbox, watch } = watching()
  const answered = Promise.withResolvers<void>()
  outbox.before = () => answered.promise
  await runtime.run(async () => {
    const asked = watch.published('event-1', { deadlineMs: 1_000 })
    await expect(asked).rejects.toBeInstanceOf(PublishedUnknownError)
    expect(runtime.clock.monotonic()).toBeLessThan(1_500)
    answered.resolve()
    await watch.stop()
  })
})

test('stopping tells everybody who waits', async () => {
  const { runtime, watch } = watching()
  runtime.timers.schedule(100, () => void watch.stop())
  await expect(runtime.run(() => watch.published('event-1', { deadlineMs }))).rejects.toThrow('the outbox was stopped')
  await expect(watch.published('event-2', { deadlineMs })).rejects.toThrow('the outbox has stopped')
  await runtime.advance(0)
  expect(runtime.pending).toBe(0)
})

test('stopping waits for a look that is under way', async () => {
  const { runtime, outbox, watch } = watching()
  outbox.latencyMs = 1_000
  outbox.add(orderEvent(1))
  await runtime.run(async () => {
    const told = watch.published('event-1', { deadlineMs }).catch((error: unknown) => error)
    await runtime.timers.sleep(100)
    const stopped = watch.stop()
    expect(await told).toBeInstanceOf(PublishedUnknownError) // Nobody who waits is kept by it.
    expect(runtime.clock.monotonic()).toBe(100)
    await stopped
    expect(runtime.clock.monotonic()).toBeGreaterThan(1_000)
  })
})

test('I17 an event that no caller waits for any more is not queried again', async () => {
  const { runtime, outbox } = watching()
  const asked: (readonly string[])[] = []
  const store: MemoryOutbox['store'] = {
    ...outbox.store,
    statusOf: (connection, ids) => {
      asked.push(ids)
      return outbox.store.statusOf(connection, ids)
    },
  }
  const watch = new PublicationWatch({ database: outbox, store, whenDone: 'KEEP', runtime })
  await runtime.run(async () => {
    for (const id of ['event-1', 'event-2'])
      await expect(watch.published(id, { deadlineMs: 100 })).rejects.toBeInstanceOf(PublishedUnknownError)
  })
  expect(asked.at(-1)).toEqual(['event-2'])
})

test('callers beyond the limit are rejected at once', async () => {
  const { watch, runtime } = watching()
  const waits = Array.from({ length: 10_000 }, (_, n) =>
    watch.published(`event-${n}`, { deadlineMs: 10 }).catch(() => 'unknown'),
  )
  await expect(watch.published('one more', { deadlineMs: 10 })).rejects.toThrow('10000 callers are already waiting')
  await runtime.run(() => Promise.all(waits))
})
