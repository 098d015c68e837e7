import { ArgumentError, describeThrown, WaybillError } from '../errors.ts'

/**
 * Writes an event's headers to a text column and reads them back. Hand in your own to stores and pollers where the
 * column holds more than {@link defaultJsonCodec} reads.
 */
export interface JsonCodec {
  /** The entries as a JSON object; null when there are none, so that the column stays empty. */
  toJson(entries: ReadonlyMap<string, string | null> | null | undefined): string | null
  /** The entries of a JSON object; an empty map when there is nothing to read. */
  parseObject(json: string | null | undefined): Map<string, string>
}

/** A text is not the flat JSON object of strings that the codec reads. */
export class JsonCodecError extends WaybillError {
  static override readonly code = 'WAYBILL_JSON_CODEC_TEXT_INVALID'

  constructor(problem: string, cause?: unknown) {
    super(`Cannot read headers from JSON: ${problem}.`, {
      ...(cause === undefined ? {} : { cause }),
      impact: 'The text stays as it is stored.',
      hint: 'Correct the stored text, or hand in a codec that reads it.',
    })
  }
}

/**
 * Reads and writes flat objects whose values are text, and nothing else. A null value is written as null and left out
 * when read. Half a surrogate pair is refused both ways: it has no UTF-8, so what is read back from a database or sent to
 * Kafka would be another text.
 */
export const defaultJsonCodec: JsonCodec = Object.freeze({
  toJson(entries: ReadonlyMap<string, string | null> | null | undefined): string | null {
    if (entries === null || entries === undefined || entries.size === 0) return null
    const members: string[] = []
    for (const [key, value] of entries) members.push(`${quote(key)}:${value === null ? 'null' : quote(value)}`)
    return `{${members.join(',')}}`
  },

  parseObject(json: string | null | undefined): Map<string, string> {
    const entries = new Map<string, string>()
    if (json === null || json === undefined || json.trim() === '') return entries
    const parsed = parse(json)
    if (parsed === null) return entries
    if (typeof parsed !== 'object' || Array.isArray(parsed)) throw new JsonCodecError('the text is no JSON object')
    for (const [key, value] of Object.entries(parsed as Record<string, unknown>)) {
      if (value !== null && typeof value !== 'string')
        throw new JsonCodecError(`the value of ${JSON.stringify(key)} is no text`)
      if (!key.isWellFormed() || value?.isWellFormed() === false)
        throw new JsonCodecError(`the entry ${JSON.stringify(key)} has half a surrogate pair`)
      if (value !== null) entries.set(key, value)
    }
    return entries
  },
})

function quote(text: unknown): string {
  if (typeof text !== 'string')
    throw new ArgumentError(`Headers are text and have text as names, not ${describeThrown(text)}.`)
  if (!text.isWellFormed())
    throw new ArgumentError(`The header text ${JSON.stringify(text)} has half a surrogate pair.`)
  return JSON.stringify(text)
}

function parse(json: string): unknown {
  try {
    return JSON.parse(json)
  } catch (error) {
    throw new JsonCodecError('the text is no JSON', error)
  }
}
