/** Which topics a binding reads: one, several, or all that an expression matches. */

import { instance, list, type Rule, showValue, text } from '@waybill/core/option'
import { topicName } from '@waybill/kafka/internal'
import type { TopicSelection } from '../api/binding.ts'

/** Each has containers of its own: beyond this a process has hundreds of group members. */
export const mostTopics = 100

const one = text(topicName)
const several = list(one, { min: 1, max: mostTopics })

/** A slash is in no topic's name, so a file can write an expression as a text. */
const written = /^\/(?<source>.+)\/(?<flags>[a-z]*)$/s

/** A topic, a list of them, or an expression. */
export const topicSelectionRule: Rule<TopicSelection> = {
  ...instance<TopicSelection>(
    `${topicName.called}; or a list of 1 to ${mostTopics} of them; or a regular expression without the flags g and y, in a file as /^orders\\./`,
    (value) => one.accepts(value) || several.accepts(value) || isPattern(value),
  ),
  inside: (value, path, report) =>
    (Array.isArray(value) ? several.inside?.(value, path, report) : undefined) ?? (value as TopicSelection),
}

/** In place of an expression that is none and reported, so that the rules do not report it once more. */
const placeholder = /(?!)/

/** The expression that a text such as `/^orders\./` stands for; what is written otherwise stays as it is. */
export function patternIn(value: unknown, report: (problem: string, at?: string) => void): unknown {
  if (Array.isArray(value) && value.some(isWritten)) return withoutPatterns(value, report)
  const groups = typeof value === 'string' ? written.exec(value)?.groups : undefined
  if (groups?.['source'] === undefined) return value
  try {
    return new RegExp(groups['source'], groups['flags'])
  } catch (error) {
    report(`must be a topic name or a regular expression, got ${showValue(value)}: ${(error as Error).message}`)
    return placeholder
  }
}

function isWritten(value: unknown): boolean {
  return typeof value === 'string' && written.test(value)
}

/** What stands in a list is a name, so an expression there is reported, and not once more by the rules. */
function withoutPatterns(items: readonly unknown[], report: (problem: string, at?: string) => void): unknown {
  for (const [at, item] of items.entries())
    if (isWritten(item))
      report(
        `must be a name, got ${showValue(item)}: an expression stands alone, and one can match several, as ` +
          '/^(orders|payments)\\./',
        `[${at}]`,
      )
  return placeholder
}

/** The topics that are known without a look at a cluster; undefined for an expression. */
export function listedTopics(selection: TopicSelection): readonly string[] | undefined {
  if (selection instanceof RegExp) return undefined
  return isOneTopic(selection) ? [selection] : selection
}

/** Whether it can only ever be this one: what runs is then called after the binding alone. */
export function isOneTopic(selection: TopicSelection): selection is string {
  return typeof selection === 'string'
}

/** What stands for all of them: a topic's own name, or a text that is no name. */
export function describeTopics(selection: TopicSelection): string {
  if (selection instanceof RegExp) return String(selection)
  return isOneTopic(selection) ? selection : `[${selection.join(', ')}]`
}

/** Flags that make an expression remember where it was would match every other topic. */
function isPattern(value: unknown): boolean {
  return value instanceof RegExp && !value.global && !value.sticky
}
