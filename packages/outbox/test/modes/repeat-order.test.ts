/** I22: a crash repeats an event only together with every later event of its key. */

import { createEnvelope, type EventEnvelope, NonRetryableError, StateError, StopDeadlineError } from '@waybill/core'
import { Outbox } from '@waybill/outbox'
import { describe, expect, test } from 'vitest'
import { createHarness, type OutboxHarness } from '../support/outbox-harness.ts'

const modes = {
  'Outbox.keyed': ({ base }: OutboxHarness) =>
    Outbox.keyed({ ...base, intervalMs: 100, claimLocking: { timeoutMs: 20_000 } }),
  'Outbox.leasing': ({ base }: OutboxHarness) =>
    Outbox.leasing({ ...base, intervalMs: 100, claimLocking: { timeoutMs: 20_000 } }),
  'Outbox.ordered': ({ base }: OutboxHarness) => Outbox.ordered({ ...base, intervalMs: 100 }),
} as const

/** Events of one key. */
function series(count: number): EventEnvelope[] {
  return Array.from({ length: count }, (_, n) =>
    createEnvelope({ eventId: `e${n + 1}`, eventType: 'order.placed', aggregateId: 'order-1', payloadJson: '{}' }),
  )
}

function statuses({ outbox }: OutboxHarness): string {
  return outbox.rows.map(({ status }) => status).join(' ')
}

/** A harness whose listener takes long enough for each outcome to be written by a statement of its own. */
function slowHarness(): OutboxHarness {
  const harness = createHarness()
  harness.behaviour = () => harness.runtime.timers.sleep(20)
  return harness
}

describe.each(Object.entries(modes))('%s', (name, create) => {
  test('I22 stores no later finish while an earlier one is unanswered', async () => {
    const harness = slowHarness()
    const { runtime, outbox: table } = harness
    const answer = Promise.withResolvers<void>()
    table.before = (call) => (call === 'markDone' ? answer.promise : undefined)
    table.add(...series(5))
    const outbox = create(harness)
    await runtime.run(async () => {
      await outbox.start()
      await harness.until(() => harness.delivered.length === 5)
      await runtime.timers.sleep(1_000)
      expect([statuses(harness), table.calls.filter((call) => call === 'markDone').length]).toEqual([
        'NEW NEW NEW NEW NEW',
        1,
      ])
      answer.resolve()
      await harness.until(() => table.withStatus('DONE').length === 5)
      await outbox.stop()
    })
    expect(harness.deliveredIds()).toEqual(['e1', 'e2', 'e3', 'e4', 'e5'])
  })

  test('I22 stores nothing behind a finish that is repeated without success, and all in order after it', async () => {
    const harness = slowHarness()
    const { runtime, outbox: table } = harness
    let isLocked = true
    table.before = (call) => {
      if (call === 'markDone' && isLocked) throw new StateError('lock timeout')
    }
    table.add(...series(5))
    const outbox = create(harness)
    await runtime.run(async () => {
      await outbox.start()
      await harness.until(() => harness.delivered.length === 5)
      await runtime.timers.sleep(2_000)
      expect(statuses(harness)).toBe('NEW NEW NEW NEW NEW')
      isLocked = false
      await harness.until(() => table.withStatus('DONE').length === 5)
      await outbox.stop()
    })
    expect(harness.deliveredIds()).toEqual(['e1', 'e2', 'e3', 'e4', 'e5'])
  })

  test('I22 stores nothing more for a key whose finish is unanswered at the stop deadline', async () => {
    const harness = slowHarness()
    const { runtime, outbox: table } = harness
    const answer = Promise.withResolvers<void>()
    table.before = (call) => (call === 'markDone' ? answer.promise : undefined)
    table.add(...series(5))
    const outbox = create(harness)
    await runtime.run(async () => {
      await outbox.start()
      await harness.until(() => harness.delivered.length === 4)
      await expect(outbox.stop({ deadlineMs: 500 })).rejects.toBeInstanceOf(StopDeadlineError)
      answer.resolve() // The statement was in progress in the database all the time.
      await runtime.timers.sleep(10_000)
    })
    // It may be fenced: a table is released even while a statement is in progress.
    expect(statuses(harness)).toMatch(/^(?:DONE|NEW) NEW NEW NEW NEW$/)
  })

  test('I22 delivers what is behind a fenced finish again, although the lease holds', async () => {
    const harness = slowHarness()
    const { runtime, outbox: table } = harness
    const isSole = name === 'Outbox.ordered'
    const answer = Promise.withResolvers<void>()
    let isFirst = true
    let isCut = false
    table.before = (call) => {
      if (isCut && call !== 'markDone') throw new StateError('The database is down.')
      if (call !== 'markDone' || !isFirst) return undefined
      isFirst = false
      return answer.promise
    }
    table.add(...series(5))
    const outbox = create(harness)
    await runtime.run(async () => {
      await outbox.start()
      await harness.until(() => harness.delivered.length === 4)
      if (isSole) {
        // The node loses the table in an outage and takes it again; the statement still names the former lease.
        isCut = true
        await runtime.timers.sleep(11_000)
        isCut = false
        await runtime.timers.sleep(5_000)
      }
      const leases = [...table.shards.values()]
      const until = leases.map((lease) => lease.until)
      // As seen by the statement, the database's clock has jumped, and it is set back after it.
      if (!isSole) for (const lease of leases) lease.until = 0
      answer.resolve()
      await runtime.timers.sleep(0)
      if (!isSole) for (const [at, lease] of leases.entries()) lease.until = until[at] as number
      await harness.until(() => table.withStatus('DONE').length === 5)
      await outbox.stop()
    })
    const ids = harness.deliveredIds()
    expect(ids.slice(ids.lastIndexOf('e1'))).toEqual(['e1', 'e2', 'e3', 'e4', 'e5'])
    expect(ids.indexOf('e1')).toBeLessThan(ids.lastIndexOf('e1'))
    expect(harness.metrics.total('outbox.finish.fenced')).toBe(1)
  })

  test('I22 marks an unreadable row DEAD after every event before it', async () => {
    const harness = slowHarness()
    const { runtime, outbox: table } = harness
    const rows = table.add(...series(5))
    Object.assign(rows[2] as object, { isBroken: true })
    const seen: string[] = []
    table.after = (call) => void (call.startsWith('mark') && seen.push(statuses(harness)))
    const outbox = create(harness)
    await runtime.run(async () => {
      await outbox.start()
      await harness.until(() => table.withStatus('NEW').length === 0)
      await outbox.stop()
    })
    expect(statuses(harness)).toBe('DONE DONE DEAD DONE DONE')
    expect(seen.filter((text) => /NEW.* (?:DONE|DEAD)/.test(text))).toEqual([])
  })

  test('I22 stores a finish behind a dead event only after the death', async () => {
    const harness = slowHarness()
    const { runtime, outbox: table } = harness
    harness.behaviour = async ({ eventId }) => {
      await runtime.timers.sleep(20)
      if (eventId === 'e2') throw new NonRetryableError('never')
    }
    const answer = Promise.withResolvers<void>()
    table.before = (call) => (call === 'markDead' ? answer.promise : undefined)
    table.add(...series(4))
    const outbox = create(harness)
    await runtime.run(async () => {
      await outbox.start()
      await harness.until(() => harness.delivered.length === 4)
      await runtime.timers.sleep(1_000)
      expect(statuses(harness)).toBe('DONE NEW NEW NEW')
      answer.resolve()
      await harness.until(() => table.withStatus('NEW').length === 0)
      await outbox.stop()
    })
    expect(statuses(harness)).toBe('DONE DEAD DONE DONE')
  })
})

test('with BLOCK no dead row is in the table before those that were delivered before it are finished', async () => {
  const harness = createHarness()
  const { runtime, outbox: table } = harness
  const answer = Promise.withResolvers<void>()
  table.before = (call) => (call === 'markDone' ? answer.promise : undefined)
  harness.behaviour = async ({ eventId }) => {
    if (eventId === 'e2') throw new NonRetryableError('never')
  }
  table.add(...series(2))
  const outbox = Outbox.keyed({ ...harness.base, onDeadKey: 'BLOCK' })
  await runtime.run(async () => {
    await outbox.start()
    await runtime.timers.sleep(2_000)
    expect(statuses(harness)).toBe('NEW NEW')
    answer.resolve()
    await runtime.timers.sleep(2_000)
    expect(statuses(harness)).toBe('DONE DEAD')
    await outbox.stop()
  })
})

test('I22 keyed writes other keys while a finish of one key is unanswered', async () => {
  const harness = slowHarness()
  const { runtime, outbox: table } = harness
  const answer = Promise.withResolvers<void>()
  let isFirst = true
  table.before = (call) => {
    if (call !== 'markDone' || !isFirst) return undefined
    isFirst = false
    return answer.promise
  }
  table.add(...series(1))
  const outbox = Outbox.keyed({ ...harness.base, intervalMs: 100 })
  await runtime.run(async () => {
    await outbox.start()
    await harness.until(() => !isFirst)
    table.add(
      ...['a', 'b', 'c'].map((id) =>
        createEnvelope({ eventId: id, eventType: 'order.placed', aggregateId: id, payloadJson: '{}' }),
      ),
    )
    await harness.until(() => table.withStatus('DONE').length === 3)
    expect(statuses(harness)).toBe('NEW DONE DONE DONE')
    answer.resolve()
    await outbox.stop()
  })
  expect(statuses(harness)).toBe('DONE DONE DONE DONE')
})
