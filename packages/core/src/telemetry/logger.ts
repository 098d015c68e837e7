import { describeThrown } from '../errors.ts'

/** One line: fields first, then the text, as pino takes them. */
export type LogMethod = (fields: object, text: string) => void

/** How much a line matters. */
export type LogLevel = 'DEBUG' | 'INFO' | 'WARN' | 'ERROR'

/**
 * Where log lines go. A pino logger fits as it is. Calls are on the hot path: an implementation neither throws nor
 * waits. An error travels in the field `err`.
 */
export interface Logger {
  readonly debug: LogMethod
  readonly info: LogMethod
  readonly warn: LogMethod
  readonly error: LogMethod
  /** A logger that adds `fields` to each of its lines. */
  child(fields: object): Logger
}

const nothing: LogMethod = () => {}

/** Writes nothing. */
export const noopLogger: Logger = Object.freeze({
  debug: nothing,
  info: nothing,
  warn: nothing,
  error: nothing,
  child: () => noopLogger,
})

/** The fields of one line, a child's and the line's own together. */
export type LogFields = Readonly<Record<string, unknown>>

/** Makes a {@link Logger} of one function: how a logger that is not pino's shape is plugged in. */
export function createLogger(write: (level: LogLevel, fields: LogFields, text: string) => void): Logger {
  const withFields = (own: LogFields): Logger => {
    const at =
      (level: LogLevel): LogMethod =>
      (fields, text) => {
        const line = logLineOf(fields, text)
        write(level, mergeLogFields(own, line.fields), line.text)
      }
    return Object.freeze({
      debug: at('DEBUG'),
      info: at('INFO'),
      warn: at('WARN'),
      error: at('ERROR'),
      child: (fields: object) => withFields(mergeLogFields(own, fields)),
    })
  }
  return withFields({})
}

/**
 * Reads the arguments of a log call. Untyped code may pass the text alone, as pino allows: a log line must never fail the
 * handler that writes it.
 */
export function logLineOf(fields: unknown, text: unknown): { readonly fields: object; readonly text: string } {
  if (typeof fields === 'object' && fields !== null) return { fields, text: textOf(text) }
  return { fields: {}, text: textOf(text ?? fields) }
}

function textOf(given: unknown): string {
  if (typeof given === 'string') return given
  return given === undefined ? '' : describeThrown(given)
}

/** Both sets of fields, `over` winning. An error given in place of fields becomes `err`, as pino has it. */
export function mergeLogFields(under: object, over: object): LogFields {
  try {
    return over instanceof Error ? { ...under, err: over } : { ...under, ...over }
  } catch {
    return { ...readableFields(under), ...readableFields(over) }
  }
}

/** The placeholder for a value that throws when it is read, such as a getter. Logging never fails because of it. */
export const unreadableField = 'a value that cannot be read'

function readableFields(fields: object): LogFields {
  try {
    return Object.fromEntries(Object.keys(fields).map((name) => [name, readField(fields as LogFields, name)]))
  } catch {
    return { fields: unreadableField } // Not even the names can be read.
  }
}

function readField(fields: LogFields, name: string): unknown {
  try {
    return fields[name]
  } catch {
    return unreadableField
  }
}
