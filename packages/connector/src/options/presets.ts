/** Bundles of options for kinds of consumers. What a binding says itself wins, also inside nested options. */

import { isPlainObject } from '@waybill/core/option'
import type { Binding } from '../api/binding.ts'

/** Names of the bundles. */
export type BindingPreset = NonNullable<Binding['preset']>

/** What a bundle may set: a topic, a group and a handler are each binding's own. */
export type PresetOptions = Omit<Binding, 'topic' | 'groupId' | 'handler' | 'preset'>

/**
 * - FANOUT: hands events on to whoever is online (S2-029, C-64, C-66). A delivery that fails for the moment is skipped:
 *   outside the promise that nothing is lost. What can never be read goes to one topic for all, as JSON (C-60).
 * - PROJECTION: builds state of events (S3-011…S3-015, C-47, C-66). Consistency over availability: a failure that may
 *   pass is waited out, and a partition never goes on without it.
 */
export const presets: Readonly<Record<BindingPreset, PresetOptions>> = Object.freeze({
  FANOUT: {
    maxPollRecords: 500,
    maxPollIntervalMs: 300_000,
    sessionTimeoutMs: 30_000,
    heartbeatIntervalMs: 10_000,
    startFrom: 'EARLIEST',
    failureProfile: 'BEST_EFFORT_SKIP',
    orderingMode: 'STRICT',
    dlt: { topic: 'dead_letters', format: 'ENVELOPE' },
  },
  PROJECTION: {
    failureProfile: 'BLOCKING_UNLIMITED',
    orderingMode: 'STRICT',
    // One attempt, then a second of waiting: quick repeats in memory would come before it.
    retry: { tier0: { maxAttempts: 1 }, blocking: { initialBackoffMs: 1_000, multiplier: 2, maxBackoffMs: 30_000 } },
  },
})

/** What was given over what its preset has. A preset that does not exist is left for the rules to refuse. */
export function withPreset(given: unknown): unknown {
  if (!isPlainObject(given)) return given
  const name = given['preset']
  if (typeof name !== 'string' || !Object.hasOwn(presets, name)) return given
  return over(given, withoutReplaced(given, presets[name as BindingPreset]))
}

/** A suffix of the binding's own asks for the usual name: the preset's fixed one would leave it without effect. */
function withoutReplaced(given: Readonly<Record<string, unknown>>, preset: PresetOptions): PresetOptions {
  const own = given['dlt']
  if (preset.dlt?.topic === undefined || !isPlainObject(own) || own['topicSuffix'] === undefined) return preset
  const { topic: _, ...dlt } = preset.dlt
  return { ...preset, dlt }
}

function over(given: Readonly<Record<string, unknown>>, under: object): Record<string, unknown> {
  const merged: Record<string, unknown> = { ...under }
  for (const [key, value] of Object.entries(given)) {
    if (value === undefined) continue
    const below = merged[key]
    merged[key] = isPlainObject(value) && isPlainObject(below) ? over(value, below) : value
  }
  return merged
}
