/** The alerts that docs/reference/outbox-metrics.md recommends: each is driven to firing, and is silent before. */

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { NonRetryableError, UnavailableError } from '@waybill/core'
import { Outbox } from '@waybill/outbox'
import { describe, expect, test } from 'vitest'
import { createHarness, type OutboxHarness, orderEvent } from '../support/outbox-harness.ts'

const page = readFileSync(join(import.meta.dirname, '../../../../docs/reference/outbox-metrics.md'), 'utf8')

interface Alarm {
  readonly title: string
  readonly condition: string
}

/** The rows of the page's table of alerts. */
function alarmsOfPage(): readonly Alarm[] {
  const [, table = ''] = page.split('## Recommended alerts')
  return [...table.matchAll(/^\| ([^|]+) \| ([^|]*`[^|]+) \|/gm)].map(([, title = '', condition = '']) => ({
    title,
    condition,
  }))
}

/** Longer than the interval of the gauges. */
const sampleMs = 15_000
/** Marks a gauge as not set since the last sample. */
const unset = -1
const condition = /^`(?<name>[\w.]+)` (?<test>above \d+|is \d+|rises|is missing)(?: for (?<minutes>\d+) min)?$/

/** Samples metrics as a scraper does, and evaluates a condition of the page. */
function watching({ runtime, metrics }: OutboxHarness, text: string): { readonly isFiring: () => boolean } {
  const { name = '', test: rule = '', minutes = '0' } = condition.exec(text)?.groups ?? {}
  if (name === '') throw new Error(`The page has a condition that is not understood: ${text}`)
  const [kind = '', limit = '0'] = rule.split(' ')
  let last = 0
  const holdsNow = (): boolean => {
    const before = last
    last = metrics.total(name)
    const value = metrics.latest(name)
    if (kind === 'rises') return last > before
    if (rule !== 'is missing')
      return value !== undefined && (kind === 'is' ? value === Number(limit) : value > Number(limit))
    metrics.gauge(name, {}, unset)
    return value === undefined || value === unset
  }
  // A counter rises continuously if it does within each minute.
  const everyMs = kind === 'rises' ? 60_000 : sampleMs
  let heldMs = -everyMs
  let hasFired = false
  const sample = (): void => {
    heldMs = holdsNow() ? heldMs + everyMs : -everyMs
    hasFired ||= heldMs >= Number(minutes) * 60_000 && heldMs >= 0
    runtime.timers.schedule(everyMs, sample)
  }
  runtime.timers.schedule(everyMs, sample)
  return { isFiring: () => hasFired }
}

const hour = 3_600_000
const fail = async (): Promise<void> => {
  throw new Error('broken')
}

interface Drive {
  /** Makes the trouble, until it has lasted. */
  readonly trouble: (harness: OutboxHarness) => Promise<void>
  /** The outbox, if not the default one. */
  readonly outbox?: (harness: OutboxHarness) => ReturnType<typeof Outbox.keyed>
}

let lastEvent = 0
const nextEvent = () => orderEvent(++lastEvent)

/** Repeats an act every so often, for as long as the alert needs. */
async function every(ms: number, { runtime }: OutboxHarness, act: () => Promise<void> | void): Promise<void> {
  const endsAt = runtime.clock.monotonic() + 420_000
  while (runtime.clock.monotonic() < endsAt) {
    await act()
    await runtime.timers.sleep(ms)
  }
}

const drives: Readonly<Record<string, Drive>> = {
  'events are late': {
    async trouble(harness) {
      harness.behaviour = async () => ({ retryAfterMs: hour })
      harness.outbox.add(nextEvent())
      await harness.runtime.timers.sleep(500_000)
    },
  },
  'events are DEAD': {
    async trouble(harness) {
      harness.behaviour = async () => {
        throw new NonRetryableError('refused')
      }
      harness.outbox.add(nextEvent())
      await harness.runtime.timers.sleep(30_000)
    },
  },
  'events become DEAD': {
    async trouble(harness) {
      harness.behaviour = async () => {
        throw new NonRetryableError('refused')
      }
      harness.outbox.add(nextEvent())
      await harness.runtime.timers.sleep(120_000)
    },
  },
  'deliveries fail': {
    outbox: (harness) => Outbox.keyed({ ...harness.base, maxAttempts: 1_000 }),
    async trouble(harness) {
      harness.behaviour = fail
      await every(20_000, harness, () => void harness.outbox.add(nextEvent()))
    },
  },
  'the outbox is DOWN': {
    async trouble(harness) {
      harness.outbox.before = () => {
        throw new Error('connect ECONNREFUSED')
      }
      await harness.runtime.timers.sleep(120_000)
      harness.outbox.before = () => {}
    },
  },
  'no node runs': {
    async trouble({ runtime }) {
      await runtime.timers.sleep(120_000)
    },
  },
  'a destination is unavailable': {
    async trouble(harness) {
      harness.behaviour = async () => {
        throw new UnavailableError('Kafka does not answer.', { destination: 'kafka' })
      }
      harness.outbox.add(nextEvent())
      await harness.runtime.timers.sleep(120_000)
    },
  },
  'keys are held back': {
    outbox: (harness) => Outbox.keyed({ ...harness.base, maxHeldKeys: 2 }),
    async trouble(harness) {
      harness.behaviour = async () => ({ retryAfterMs: hour })
      harness.outbox.add(nextEvent(), nextEvent(), nextEvent())
      await harness.runtime.timers.sleep(120_000)
    },
  },
  'the hot queue overflows': {
    outbox: (harness) => Outbox.singleNode({ ...harness.base, hotQueueCapacity: 1, workerCount: 1, intervalMs: 1_000 }),
    async trouble(harness) {
      harness.behaviour = () => harness.runtime.timers.sleep(1_000)
      await every(10_000, harness, async () => {
        await harness.outbox.transaction(async (tx) => {
          for (let n = 0; n < 3; n++) await running?.write(tx, 'order.placed', {})
        })
      })
    },
  },
  'leases expire': {
    outbox: (harness) => Outbox.multiNode({ ...harness.base, claimLocking: { timeoutMs: 10_000 } }),
    async trouble(harness) {
      harness.behaviour = () => harness.runtime.timers.sleep(20_000)
      harness.outbox.before = (call) => {
        if (call === 'renew') throw new Error('canceling statement due to lock timeout')
      }
      await every(20_000, harness, () => void harness.outbox.add(nextEvent()))
    },
  },
  'outcomes are fenced': {
    outbox: (harness) => Outbox.multiNode({ ...harness.base, claimLocking: { timeoutMs: 60_000 } }),
    async trouble(harness) {
      harness.behaviour = async ({ eventId }) => {
        // Another node took the row meanwhile.
        for (const row of harness.outbox.rows) if (row.event.eventId === eventId) row.version += 1n
      }
      await every(20_000, harness, () => void harness.outbox.add(nextEvent()))
    },
  },
}

/** The outbox under test, for scenarios that write. */
let running: ReturnType<typeof Outbox.keyed> | undefined

describe('the recommended alerts', () => {
  const alarms = alarmsOfPage()

  test('are the ones that are driven here', () => {
    expect(alarms.map(({ title }) => title)).toEqual(Object.keys(drives))
  })

  test.each(alarms)('$title: fires when $condition', async (alarm) => {
    const harness = createHarness()
    const { trouble, outbox: create = ({ base }) => Outbox.keyed(base) } = drives[alarm.title] as Drive
    await harness.runtime.run(async () => {
      const outbox = create(harness)
      running = outbox
      const { isFiring } = watching(harness, alarm.condition)
      await outbox.start()
      harness.outbox.add(nextEvent())
      await harness.runtime.timers.sleep(180_000)
      expect(isFiring()).toBe(false)
      if (alarm.title === 'no node runs') await outbox.stop()
      await trouble(harness)
      expect(isFiring()).toBe(true)
      harness.behaviour = async () => {}
      await outbox.stop({ deadlineMs: 60_000 })
    })
  })
})

describe('the gauges of the table', () => {
  const modes = {
    singleNode: (harness: OutboxHarness) => Outbox.singleNode(harness.base),
    multiNode: (harness: OutboxHarness) => Outbox.multiNode({ ...harness.base, claimLocking: { timeoutMs: 30_000 } }),
    keyed: (harness: OutboxHarness) => Outbox.keyed(harness.base),
    leasing: (harness: OutboxHarness) => Outbox.leasing(harness.base),
    ordered: (harness: OutboxHarness) => Outbox.ordered(harness.base),
  } as const

  test.each(Object.keys(modes) as (keyof typeof modes)[])(
    'count events that wait for a retry in %s, with their age, and every gauge is there',
    async (mode) => {
      const harness = createHarness()
      harness.behaviour = async () => ({ retryAfterMs: hour })
      await harness.runtime.run(async () => {
        const outbox = modes[mode](harness)
        await outbox.start()
        harness.outbox.add(orderEvent(1), orderEvent(2))
        await harness.runtime.timers.sleep(120_000)
        const gauges = ['rows.pending', 'rows.retrying', 'rows.dead', 'queue.hot.depth', 'health'] as const
        // In sequence a listener that asks for more time is repeated in place.
        const expected = mode === 'ordered' ? [2, 0, 0, 0, 0] : [2, 2, 0, 0, 0]
        expect(gauges.map((name) => harness.metrics.latest(`outbox.${name}`))).toEqual(expected)
        expect(harness.metrics.latest('outbox.queue.cold.depth')).toBe(mode === 'ordered' ? 1 : 0)
        expect(harness.metrics.latest('outbox.lag.oldest.ms')).toBeGreaterThanOrEqual(100_000)
        expect(harness.metrics.total('outbox.enqueue.cold')).toBe(2)
        await outbox.stop({ deadlineMs: 1_000 })
      })
    },
  )
})
