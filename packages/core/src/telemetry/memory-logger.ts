import { resolveOptions } from '../option/resolve-options.ts'
import { integer } from '../option/rule.ts'
import { createLogger, type LogFields, type Logger, type LogLevel } from './logger.ts'

/** One line as it was logged. */
export interface LogLine {
  readonly level: LogLevel
  readonly fields: LogFields
  readonly text: string
}

/** A logger whose lines a test reads back. Children write to the same lines. */
export interface MemoryLogger extends Logger {
  /** The newest lines, oldest first. */
  readonly lines: readonly LogLine[]
  /** Lines that made room for newer ones. */
  readonly dropped: number
}

/** Options of {@link createMemoryLogger}. */
export interface MemoryLoggerOptions {
  /** Lines kept; the oldest make room. @defaultValue 10,000 */
  readonly maxLines?: number
}

const rules = {
  maxLines: integer({ default: 10_000, min: 1, because: 'a few megabytes, and more than anyone reads' }),
}

/** Makes a {@link MemoryLogger}. */
export function createMemoryLogger(options: MemoryLoggerOptions = {}): MemoryLogger {
  const { maxLines } = resolveOptions('createMemoryLogger', rules, options)
  const lines: LogLine[] = []
  let dropped = 0
  const logger = createLogger((level, fields, text) => {
    lines.push(Object.freeze({ level, fields, text }))
    if (lines.length <= maxLines) return
    lines.shift()
    dropped++
  })
  return Object.freeze({
    ...logger,
    lines,
    get dropped() {
      return dropped
    },
  })
}
