/**
 * Finds the topics of bindings that select by an expression: once before a start, and periodically while they run.
 *
 *     list ─▶ match ─▶ new ones: check names and clashes, create derived topics ─▶ add to the binding
 *
 * | problem | at the start | later |
 * |---|---|---|
 * | the cluster does not respond | the start fails | the next search retries |
 * | a topic clashes with another binding, or a derived name is too long | the start fails | it is reported |
 * | a topic is deleted | it is removed | health reports it; if the next search misses it too, it is removed |
 */

import { OptionsError, type Runtime } from '@waybill/core'
import { type OptionViolation } from '@waybill/core/internal'
import type { Admin } from '@waybill/kafka'
import { topicName } from '@waybill/kafka/internal'
import type { ResolvedBinding } from '../binding/resolved-binding.ts'
import { bindingPath, checkRelations } from '../options/binding-options.ts'
import { mostTopics } from '../options/topic-selection.ts'
import { derivedNamesOf } from './derived-topics.ts'
import { matchTopics } from './match-topics.ts'

/** A binding whose topics are searched for. */
export interface Searching {
  readonly resolved: ResolvedBinding
  /** One binding for each known topic. */
  readonly parts: readonly ResolvedBinding[]
}

/** The result of a search: new topics, known topics that no longer exist, and the reasons others cannot be read. */
export interface Found {
  readonly parts: readonly ResolvedBinding[]
  readonly gone: readonly string[]
  readonly violations: readonly OptionViolation[]
}

/** The result for a binding without an expression. */
const nothing: Found = Object.freeze({ parts: [], gone: [], violations: [] })

/** Below the deadline of a start. */
const deadline = { deadlineMs: 10_000 }

/** Searches once. `others` are the running bindings of the connector. Rejects if the cluster does not respond. */
export async function findTopics(
  { resolved, parts }: Searching,
  others: readonly ResolvedBinding[],
  admin: Pick<Admin, 'listTopics'>,
): Promise<Found> {
  const { selection } = resolved
  if (!(selection instanceof RegExp)) return nothing
  const known = new Set(parts.map(({ topic }) => topic))
  const existing = await admin.listTopics(deadline)
  const matching = matchTopics(resolved, selection, existing)
  const fresh = matching.filter((topic) => !known.has(topic)).map((topic) => resolved.forTopic(topic))
  const room = mostTopics - known.size
  const violations = fresh.flatMap((part) => violationsOf(part, [...others, ...parts]))
  const refused = new Set(violations.map(({ topic }) => topic))
  const usable = fresh.filter(({ topic }) => !refused.has(topic))
  if (usable.length > room)
    violations.push({
      topic: '',
      path: `${bindingPath(resolved.name)}.topic`,
      problem: `${String(selection)} matches ${known.size + usable.length} topics, at most ${mostTopics} are allowed`,
    })
  return {
    parts: usable.slice(0, Math.max(0, room)),
    gone: [...known].filter((topic) => !existing.includes(topic)),
    violations: violations.map(({ path, problem }) => ({ path, problem })),
  }
}

/** @throws OptionsError */
export function assertNone({ name }: ResolvedBinding, { violations }: Found): void {
  if (violations.length > 0) throw new OptionsError(`Binding ${name}`, violations)
}

/** Searches periodically until the signal aborts. Never rejects: the next search retries a failed one. */
export async function searchOn(
  { name, topicRefreshMs }: ResolvedBinding,
  look: () => Promise<void>,
  { timers, logger }: Pick<Runtime, 'timers' | 'logger'>,
  signal: AbortSignal,
): Promise<void> {
  for (;;) {
    try {
      await timers.sleep(topicRefreshMs, signal)
    } catch {
      return // A sleep rejects only on abort.
    }
    try {
      await look()
    } catch (err) {
      logger.warn({ err, binding: name }, 'Topic search failed, retrying')
    }
  }
}

function violationsOf(
  part: ResolvedBinding,
  others: readonly ResolvedBinding[],
): (OptionViolation & { readonly topic: string })[] {
  const { name, topic } = part
  const path = `${bindingPath(name)}.topic`
  const tooLong = derivedNamesOf(part).filter((derived) => !topicName.pattern.test(derived))
  if (tooLong.length > 0)
    return [{ topic, path, problem: `matches ${topic}, which produces ${tooLong[0]}: not ${topicName.called}` }]
  const found: (OptionViolation & { readonly topic: string })[] = []
  checkRelations([...others, part], [part.cluster, ...others.map(({ cluster }) => cluster)], (at, problem) =>
    found.push({ topic, path: at, problem }),
  )
  return found
}
