/** The rule of the `topic` option: one topic, several, or all that match an expression. */

import { instance, list, type Rule, showValue, text } from '@waybill/core/option'
import { topicName } from '@waybill/kafka/internal'
import type { TopicSelection } from '../api/binding.ts'
import { patternProblem } from './topic-pattern.ts'

/** The maximum number of topics. Each has its own containers, and more would mean hundreds of group members. */
export const mostTopics = 100

const one = text(topicName)
const several = list(one, { min: 1, max: mostTopics })

/** A file writes an expression as text between slashes, which no topic name contains. */
const written = /^\/(?<source>.+)\/(?<flags>[a-z]*)$/s

/** The rule of `topic`. */
export const topicSelectionRule: Rule<TopicSelection> = {
  ...instance<TopicSelection>(
    `${topicName.called}; or a list of 1 to ${mostTopics} of them; or a regular expression without the flags g and y, in a file as /^orders\\./`,
    (value) => one.accepts(value) || several.accepts(value) || isPattern(value),
  ),
  inside: (value, path, report) => {
    const problem = value instanceof RegExp ? patternProblem(value) : undefined
    if (problem !== undefined)
      report(
        path,
        `${String(value)} ${problem}, so it cannot be matched in linear time, and a topic name could block the process. ` +
          'Use characters, classes, groups, alternatives, repetitions and lookarounds, or list the topics',
      )
    return (Array.isArray(value) ? several.inside?.(value, path, report) : undefined) ?? (value as TopicSelection)
  },
}

/** Replaces an invalid expression that is already reported, so that the rules do not report it again. */
const placeholder = /(?!)/

/** Converts a text such as `/^orders\./` to an expression. Returns any other value unchanged. */
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

/** Reports expressions in a list, which may contain names only. */
function withoutPatterns(items: readonly unknown[], report: (problem: string, at?: string) => void): unknown {
  for (const [at, item] of items.entries())
    if (isWritten(item))
      report(
        `must be a name, got ${showValue(item)}: use a single expression outside of a list, such as ` +
          '/^(orders|payments)\\./',
        `[${at}]`,
      )
  return placeholder
}

/** Returns the listed topics; undefined for an expression, whose topics only the cluster knows. */
export function listedTopics(selection: TopicSelection): readonly string[] | undefined {
  if (selection instanceof RegExp) return undefined
  return isOneTopic(selection) ? [selection] : selection
}

/** Returns whether the selection is a single topic. Container names then omit the topic. */
export function isOneTopic(selection: TopicSelection): selection is string {
  return typeof selection === 'string'
}

/** Returns the name of a single topic, or a description that is not a legal topic name. */
export function describeTopics(selection: TopicSelection): string {
  if (selection instanceof RegExp) return String(selection)
  return isOneTopic(selection) ? selection : `[${selection.join(', ')}]`
}

/** Returns whether a value is a stateless expression: with the flags g and y it would match every other topic. */
function isPattern(value: unknown): boolean {
  return value instanceof RegExp && !value.global && !value.sticky
}
