/**
 * Finds the topics of bindings that select by an expression: once before a start, and again while they run.
 *
 *     list ─▶ match ─▶ those not known yet: names and clashes checked, derived topics made ─▶ the binding's own
 *
 * | what fails | at the start | later |
 * |---|---|---|
 * | the cluster does not answer | the start fails | the next look tries again |
 * | a topic clashes with another binding, or makes names that are too long | the start fails | it is left out and told |
 * | a topic is deleted | it is forgotten | health tells of it; when the second look misses it too, it is forgotten |
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

/** A binding whose topics are looked for. */
export interface Searching {
  readonly resolved: ResolvedBinding
  /** One binding for each topic that is known. */
  readonly parts: readonly ResolvedBinding[]
}

/** Topics that match and are not known yet, those that are known and not there any more, and why others cannot be read. */
export interface Found {
  readonly parts: readonly ResolvedBinding[]
  readonly gone: readonly string[]
  readonly violations: readonly OptionViolation[]
}

/** What is found of a binding whose topics are known. */
const nothing: Found = Object.freeze({ parts: [], gone: [], violations: [] })

/** Less than a start may take. */
const deadline = { deadlineMs: 10_000 }

/** Looks once. `others` are the bindings of the connector that read already. Rejects when the cluster does not answer. */
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
      problem: `${String(selection)} matches ${known.size + usable.length} topics, and at most ${mostTopics} are read`,
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

/** Looks until the signal aborts. Never rejects: what fails is tried again with the next look. */
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
      return // Aborted: the only way in which a sleep ends early.
    }
    try {
      await look()
    } catch (err) {
      logger.warn({ err, binding: name }, 'Looking for new topics failed; they are looked for again later')
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
    return [{ topic, path, problem: `matches ${topic}, which makes ${tooLong[0]}: not ${topicName.called}` }]
  const found: (OptionViolation & { readonly topic: string })[] = []
  checkRelations([...others, part], [part.cluster, ...others.map(({ cluster }) => cluster)], (at, problem) =>
    found.push({ topic, path: at, problem }),
  )
  return found
}
