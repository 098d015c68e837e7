/** Bundles of options for kinds of consumers. Explicit options take precedence, also inside nested ones. */

import { isPlainObject } from '@waybill/core/option'
import type { Binding } from '../api/binding.ts'

/** The name of a preset. */
export type BindingPreset = NonNullable<Binding['preset']>

/** The options that a preset may set: all except topic, group and handler. */
export type PresetOptions = Omit<Binding, 'topic' | 'groupId' | 'handler' | 'preset'>

/**
 * The presets.
 * - FANOUT: forwards events to clients that are online. Transient failures are skipped, without the guarantee against
 *   loss. Undecodable records go to one shared topic, as JSON.
 * - PROJECTION: builds state from events. Consistency over availability: a transient failure is retried until it
 *   succeeds, and its partition waits.
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
    // One attempt, then a wait of one second; more attempts of tier 0 would retry faster.
    retry: { tier0: { maxAttempts: 1 }, blocking: { initialBackoffMs: 1_000, multiplier: 2, maxBackoffMs: 30_000 } },
  },
})

/** Merges the options over those of their preset. Leaves an unknown preset to the rules. */
export function withPreset(given: unknown): unknown {
  if (!isPlainObject(given)) return given
  const name = given['preset']
  if (typeof name !== 'string' || !Object.hasOwn(presets, name)) return given
  return over(given, withoutReplaced(given, presets[name as BindingPreset]))
}

/** Removes the preset's fixed `dlt.topic` if the binding sets a suffix, which would have no effect otherwise. */
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
