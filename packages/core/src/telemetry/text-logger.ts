import { describeThrown } from '../errors.ts'
import { resolveOptions } from '../option/resolve-options.ts'
import { func, oneOf } from '../option/rule.ts'
import { createLogger, type LogFields, type Logger, type LogLevel, unreadableField } from './logger.ts'

/** Options of {@link createTextLogger}. */
export interface TextLoggerOptions {
  /** Takes each line, without a line feed: `(line) => process.stdout.write(line + '\n')`. */
  readonly write: (line: string) => void
  /** Lines below it are dropped. @defaultValue 'INFO' */
  readonly level?: LogLevel
}

const levels = ['DEBUG', 'INFO', 'WARN', 'ERROR'] as const satisfies readonly LogLevel[]

const rules = {
  write: func<TextLoggerOptions['write']>(),
  level: oneOf(levels, { default: 'INFO', because: 'debug lines come once per record' }),
}

/** The fields inside the brackets, in their order. */
const bracketed = ['bindingName', 'topic', 'partition', 'offset', 'consumerGroup', 'consumerInstance'] as const

/** A logger for people: one line of text each, as {@link formatLogLine} shapes it. */
export function createTextLogger(options: TextLoggerOptions): Logger {
  const { write, level: lowest } = resolveOptions('createTextLogger', rules, options)
  return createLogger((level, fields, text) => {
    if (levels.indexOf(level) >= levels.indexOf(lowest)) write(formatLogLine(level, fields, text))
  })
}

/**
 * One line: level, what is processed, text, further fields.
 *
 * `INFO [orders|orders.events|3|14209|order-group|host-0] Processing record retryTier=1`
 *
 * An unknown part inside the brackets is `-`; without any known part they are left out, and so is tier 0. An object prints
 * as `{…}` only, so that an object logged by mistake does not print the password in it; a list, as `[…]`, unless it is a short one
 * of texts and numbers. Control characters are escaped, so
 * that a text with a line feed cannot pass for two lines.
 */
export function formatLogLine(level: LogLevel, fields: LogFields, text: string): string {
  const parts: string[] = [level]
  if (bracketed.some((name) => fields[name] !== undefined))
    parts.push(`[${bracketed.map((name) => (fields[name] === undefined ? '-' : show(fields[name]))).join('|')}]`)
  parts.push(escapeControls(text))
  for (const [name, value] of Object.entries(fields)) {
    if (value === undefined || isBracketed(name) || (name === 'retryTier' && value === 0)) continue
    parts.push(`${escapeControls(name)}=${show(value)}`)
  }
  return parts.join(' ')
}

function isBracketed(name: string): boolean {
  return (bracketed as readonly string[]).includes(name)
}

function show(value: unknown): string {
  try {
    return showReadable(value)
  } catch {
    return quoteUnlessPlain(unreadableField) // A proxy that was revoked, or a list with a getter that throws.
  }
}

function showReadable(value: unknown): string {
  if (value instanceof Error) return quoteUnlessPlain(describeThrown(value))
  if (Array.isArray(value)) return isShortAndPlain(value) ? `[${value.map(showItem).join(',')}]` : '[…]'
  if (typeof value === 'object' && value !== null) return '{…}'
  if (typeof value === 'function') return 'function'
  return quoteUnlessPlain(String(value))
}

/** Longer lists make a line unreadable. */
const mostItems = 8

function isShortAndPlain(list: readonly unknown[]): list is readonly (string | number | bigint)[] {
  return list.length <= mostItems && list.every((item) => ['string', 'number', 'bigint'].includes(typeof item))
}

function showItem(item: string | number | bigint): string {
  const text = String(item)
  return text.includes(',') ? escapeControls(JSON.stringify(text)) : quoteUnlessPlain(text)
}

/** Quotes what could be read as more than one value. */
function quoteUnlessPlain(text: string): string {
  return /^[^\s"=|[\]]+$/.test(text) ? escapeControls(text) : escapeControls(JSON.stringify(text))
}

function escapeControls(text: string): string {
  return text.replace(/[\p{Cc}\u2028\u2029]/gu, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`)
}
