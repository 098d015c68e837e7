import { type Dialect, refHidesSiblings } from './dialect.ts'
import { isJsonObject, type JsonObject, pointerKeys, pointerTo } from './json.ts'

/** A schema inside a document, before it is read. */
export interface LocatedSchema {
  readonly schema: JsonObject | boolean
  readonly pointer: string
  /** URI that its references are relative to. */
  readonly base: string
}

/** The identified places of a document: where a `$ref` leads. */
export interface SchemaIndex {
  readonly root: LocatedSchema
  /** Whether schemas inside the document have URIs of their own. */
  readonly hasResources: boolean
  /** Undefined for a reference that leads out of the document. */
  find(reference: string, base: string): LocatedSchema | undefined
}

const documentUri = 'schema:///document'
/** Members that hold data: a `$id` in them identifies nothing. */
const dataMembers = new Set(['enum', 'const', 'default', 'examples'])

/** Indexes `$id`, `$anchor` and `$dynamicAnchor` of a document. */
export function indexSchema(document: JsonObject | boolean, dialect: Dialect): SchemaIndex {
  const places = new Map<string, LocatedSchema>()
  const bases = new Map<object, string>()
  let hasResources = false
  const visit = (value: unknown, pointer: string, outer: string): void => {
    if (Array.isArray(value)) {
      for (const [index, item] of value.entries()) visit(item, pointerTo(pointer, index), outer)
      return
    }
    if (!isJsonObject(value)) return
    // Beside a reference that hides its siblings, an id is hidden, too.
    const isHidden = typeof value['$ref'] === 'string' && refHidesSiblings(dialect)
    const base = isHidden ? outer : baseOf(value, outer)
    bases.set(value, base)
    hasResources ||= pointer !== '' && base !== outer
    const place = { schema: value, pointer, base }
    if (base !== outer || pointer === '') places.set(withoutHash(base), place)
    for (const key of ['$anchor', '$dynamicAnchor']) {
      const anchor = value[key]
      if (typeof anchor === 'string') places.set(`${withoutHash(base)}#${anchor}`, place)
    }
    const id = value['$id'] ?? value['id']
    if (typeof id === 'string' && id.startsWith('#')) places.set(`${withoutHash(outer)}${id}`, place)
    for (const [key, inner] of Object.entries(value))
      if (!dataMembers.has(key)) visit(inner, pointerTo(pointer, key), base)
  }
  visit(document, '', documentUri)
  const root: LocatedSchema = {
    schema: document,
    pointer: '',
    base: isJsonObject(document) ? baseOf(document, documentUri) : documentUri,
  }
  places.set(documentUri, root)
  const find = (reference: string, base: string): LocatedSchema | undefined => {
    const uri = resolveUri(reference, base)
    const exact = places.get(uri) ?? places.get(withoutHash(uri, true))
    if (exact !== undefined) return exact
    const [home = '', fragment = ''] = uri.split('#')
    const start = places.get(home)
    if (start === undefined || !fragment.startsWith('/')) return undefined
    return descend(start, pointerKeys(decodeFragment(fragment)), bases)
  }
  return { root, find, hasResources }
}

function descend(start: LocatedSchema, keys: readonly string[], bases: Map<object, string>): LocatedSchema | undefined {
  let value: unknown = start.schema
  let { base } = start
  for (const key of keys) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined
    value = (value as Record<string, unknown>)[key]
    if (typeof value === 'object' && value !== null) base = bases.get(value) ?? base
  }
  if (typeof value !== 'boolean' && !isJsonObject(value)) return undefined
  return { schema: value, pointer: pointerTo(start.pointer, ...keys), base }
}

function baseOf(schema: JsonObject, outer: string): string {
  const id = schema['$id'] ?? schema['id']
  return typeof id === 'string' && !id.startsWith('#') ? resolveUri(id, outer) : outer
}

function resolveUri(reference: string, base: string): string {
  return URL.canParse(reference, base) ? new URL(reference, base).href : reference
}

function withoutHash(uri: string, onlyEmpty = false): string {
  if (uri.endsWith('#')) return uri.slice(0, -1)
  return onlyEmpty ? uri : uri.replace(/#.*$/, '')
}

function decodeFragment(fragment: string): string {
  try {
    return decodeURIComponent(fragment)
  } catch {
    return fragment // Not encoded: the characters mean themselves.
  }
}
