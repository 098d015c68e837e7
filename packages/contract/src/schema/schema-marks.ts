import { createHash } from 'node:crypto'
import { isJsonObject, type JsonValue } from './json.ts'

/** The content of a part of a document in short: equal parts have equal marks, and others do not. */
export interface SchemaMark {
  readonly text: string
  /** Whether something in it refers to another place, or is named for that. */
  readonly hasReference: boolean
}

const referring = new Set(['$ref', '$dynamicRef', '$recursiveRef', '$id'])
/** Longer texts are replaced by their digest: those of nested parts would repeat each other. */
const longestText = 200

/** Makes the marks of a document's parts, each once. */
export class SchemaMarks {
  readonly #known = new WeakMap<object, SchemaMark>()

  of(value: JsonValue): SchemaMark {
    if (typeof value !== 'object' || value === null)
      return { text: shortened(JSON.stringify(value)), hasReference: false }
    const known = this.#known.get(value)
    if (known !== undefined) return known
    const made = isJsonObject(value) ? this.#ofObject(value) : this.#ofList(value)
    this.#known.set(value, made)
    return made
  }

  #ofObject(value: Readonly<Record<string, JsonValue>>): SchemaMark {
    let hasReference = false
    const members = Object.keys(value)
      .toSorted()
      .map((key) => {
        const mark = this.of(value[key] as JsonValue)
        hasReference ||= mark.hasReference || referring.has(key)
        return `${JSON.stringify(key)}:${mark.text}`
      })
    return { text: shortened(`{${members.join()}}`), hasReference }
  }

  #ofList(value: readonly JsonValue[]): SchemaMark {
    const items = value.map((item) => this.of(item))
    return {
      text: shortened(`[${items.map(({ text }) => text).join()}]`),
      hasReference: items.some(({ hasReference }) => hasReference),
    }
  }
}

function shortened(text: string): string {
  return text.length <= longestText ? text : `#${createHash('sha256').update(text).digest('base64')}`
}
