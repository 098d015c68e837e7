import type { JsonObject, JsonValue } from '../../src/schema/json.ts'

/** A seeded source of chance (mulberry32). */
export function seeded(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

/** Text, because the linter takes an object with a member `then` for a promise. */
const conditional = JSON.parse('{"if":{"required":["a"]},"then":{"required":["c"]}}') as JsonObject

type Mutable = Record<string, JsonValue>

/** Draws schemas as people write them for events, and small changes of them. */
export class SchemaDrawer {
  readonly #chance: () => number

  constructor(chance: () => number) {
    this.#chance = chance
  }

  event(): JsonObject {
    const event = this.#object(0)
    if (!this.#maybe(0.08)) return event
    // A tree of events, such as a comment with its answers.
    const node = this.#object(2)
    const inner = { ...(node['properties'] as JsonObject), next: { $ref: '#/$defs/node' } }
    const properties = { ...(event['properties'] as JsonObject), tree: { $ref: '#/$defs/node' } }
    return { ...event, properties, $defs: { node: { ...node, properties: inner } } }
  }

  /** Returns a schema with one to three changes. */
  changed(schema: JsonObject): JsonObject {
    const copy = structuredClone<Mutable>(schema)
    for (let left = 1 + Math.floor(this.#chance() * 2.5); left > 0; left -= 1)
      this.#change(this.#pick(this.#places(copy)))
    return copy
  }

  #pick<T>(from: readonly T[]): T {
    const found = from[Math.floor(this.#chance() * from.length)]
    if (found === undefined) throw new RangeError('nothing to pick from')
    return found
  }

  #maybe(share: number): boolean {
    return this.#chance() < share
  }

  #schema(depth: number): JsonObject {
    const draw = [
      () => this.#text(),
      () => this.#text(),
      () => this.#number(),
      () => this.#number(),
      () => ({ type: 'boolean' }),
      () => this.#listed(),
      () => ({ type: [this.#pick(['string', 'integer', 'object']), 'null'] }),
      ...(depth > 2 ? [] : [() => this.#object(depth + 1), () => this.#array(depth + 1), () => this.#union(depth + 1)]),
    ]
    return this.#pick(draw)()
  }

  #text(): JsonObject {
    return {
      type: 'string',
      ...(this.#maybe(0.2) ? { minLength: Math.floor(this.#chance() * 4) } : {}),
      ...(this.#maybe(0.2) ? { maxLength: Math.floor(this.#chance() * 6) } : {}),
      ...(this.#maybe(0.04) ? { format: this.#pick(['email', 'date', 'date-time', 'uuid', 'uri']) } : {}),
      ...(this.#maybe(0.25)
        ? { pattern: this.#pick(['^a', '^a+$', '^a*$', 'b', '^[a-z]{2,4}$', '^[ab]+$', '^(?:ab|b)*$']) }
        : {}),
    }
  }

  #number(): JsonObject {
    return {
      type: this.#pick(['integer', 'number']),
      ...(this.#maybe(0.3) ? { minimum: Math.floor(this.#chance() * 6) - 2 } : {}),
      ...(this.#maybe(0.3) ? { maximum: Math.floor(this.#chance() * 8) } : {}),
      ...(this.#maybe(0.15) ? { exclusiveMinimum: Math.floor(this.#chance() * 4) - 2 } : {}),
      ...(this.#maybe(0.2) ? { multipleOf: this.#pick([1, 2, 3, 4]) } : {}),
    }
  }

  #listed(): JsonObject {
    const all = ['a', 'b', 'ab', 1, 2, null, true]
    const values = all.filter(() => this.#maybe(0.4))
    return this.#maybe(0.3) ? { const: this.#pick(all) } : { enum: values.length === 0 ? ['a'] : values }
  }

  #object(depth: number): JsonObject {
    const names = ['a', 'b', 'c', 'd', 'kind'].filter(() => this.#maybe(0.5))
    return {
      type: 'object',
      properties: Object.fromEntries(names.map((name) => [name, this.#schema(depth)])),
      ...(this.#maybe(0.8) ? { required: names.filter(() => this.#maybe(0.5)) } : {}),
      ...(this.#maybe(0.2) ? { additionalProperties: this.#maybe(0.5) ? false : this.#schema(3) } : {}),
      ...(this.#maybe(0.06) ? { minProperties: 1 + Math.floor(this.#chance() * 2) } : {}),
      ...(this.#maybe(0.06) ? { maxProperties: Math.floor(this.#chance() * 4) } : {}),
      ...(this.#maybe(0.06) ? { dependentRequired: { a: ['b'] } } : {}),
      ...(this.#maybe(0.05) ? { patternProperties: { '^x': this.#schema(3) } } : {}),
      ...(this.#maybe(0.05) ? { propertyNames: { maxLength: 1 + Math.floor(this.#chance() * 4) } } : {}),
      ...(this.#maybe(0.04) ? conditional : {}),
      ...(this.#maybe(0.04) ? { not: { required: ['d'] } } : {}),
    }
  }

  #array(depth: number): JsonObject {
    return {
      type: 'array',
      ...(this.#maybe(0.8) ? { items: this.#schema(depth) } : {}),
      ...(this.#maybe(0.2)
        ? { prefixItems: [this.#schema(3), this.#schema(3)].slice(0, 1 + Math.floor(this.#chance() * 2)) }
        : {}),
      ...(this.#maybe(0.2) ? { minItems: Math.floor(this.#chance() * 3) } : {}),
      ...(this.#maybe(0.2) ? { maxItems: Math.floor(this.#chance() * 4) } : {}),
      ...(this.#maybe(0.1) ? { uniqueItems: true } : {}),
      ...(this.#maybe(0.1) ? { contains: this.#schema(3) } : {}),
    }
  }

  #union(depth: number): JsonObject {
    const tagged = this.#maybe(0.6)
    const member = (tag: string): JsonObject => {
      const drawn = this.#object(depth)
      return {
        ...drawn,
        properties: { ...(drawn['properties'] as JsonObject), kind: { const: tag } },
        required: [...new Set([...((drawn['required'] ?? []) as string[]), 'kind'])],
      }
    }
    const branches = tagged
      ? ['x', 'y', 'z'].slice(0, 2 + Math.floor(this.#chance() * 2)).map(member)
      : [this.#schema(3), this.#schema(3)]
    return { [this.#pick(['anyOf', 'oneOf', ...(tagged ? [] : ['allOf'])])]: branches }
  }

  /** All schemas inside a schema. */
  #places(schema: Mutable): Mutable[] {
    const inner = Object.entries(schema).flatMap(([key, value]): Mutable[] => {
      if (key === 'properties' || key === 'patternProperties' || key === '$defs')
        return Object.values(value as Record<string, Mutable>)
      if (key === 'prefixItems' || key === 'anyOf' || key === 'oneOf' || key === 'allOf')
        return value as unknown as Mutable[]
      return ['items', 'additionalProperties', 'contains'].includes(key) && typeof value === 'object'
        ? [value as Mutable]
        : []
    })
    return [schema, ...inner.flatMap((each) => this.#places(each))]
  }

  #change(place: Mutable): void {
    const fresh: Mutable = this.#schema(2)
    const properties = place['properties'] as Record<string, JsonValue> | undefined
    const required = (place['required'] ?? []) as string[]
    const name = this.#pick(['a', 'b', 'c', 'd'])
    const changes: (() => void)[] = [
      () => Object.assign(place, this.#pick([{ title: 't' }, { description: 'd' }, { default: null }])),
    ]
    if (properties !== undefined)
      changes.push(
        () => void (properties[name] = fresh),
        () => void delete properties[name],
        () => void (place['required'] = required.filter((each) => each !== name)),
        () => void (place['required'] = [...new Set([...required, name])]),
        () => void (place['additionalProperties'] = this.#maybe(0.5)),
        () => void delete place['additionalProperties'],
      )
    for (const key of ['minimum', 'maximum', 'minLength', 'maxLength', 'minItems', 'maxItems', 'exclusiveMinimum'])
      if (typeof place[key] === 'number')
        changes.push(
          () => void (place[key] = Math.max(key === 'minimum' ? -3 : 0, (place[key] as number) + this.#pick([-1, 1]))),
          () => void delete place[key],
        )
    if (Array.isArray(place['enum']) && place['enum'].length > 0)
      changes.push(
        () => void (place['enum'] = [...new Set([...(place['enum'] as JsonValue[]), this.#pick(['c', 3, 'a'])])]),
        () => void (place['enum'] = (place['enum'] as JsonValue[]).slice(1)),
      )
    if (place['enum'] !== undefined && (place['enum'] as JsonValue[]).length === 0) place['enum'] = ['a']
    if (place['type'] === 'integer') changes.push(() => void (place['type'] = 'number'))
    if (place['type'] === 'number') changes.push(() => void (place['type'] = 'integer'))
    for (const key of ['anyOf', 'oneOf'])
      if (Array.isArray(place[key]))
        changes.push(
          () => void (place[key] = [...(place[key] as JsonValue[]), fresh]),
          () =>
            void (place[key] = (place[key] as JsonValue[])
              .slice(0, -1)
              .concat((place[key] as JsonValue[]).length < 2 ? [fresh] : [])),
          () => {
            place[key === 'anyOf' ? 'oneOf' : 'anyOf'] = place[key] ?? []
            delete place[key]
          },
        )
    if (place['type'] === 'string') changes.push(() => void (place['format'] = this.#pick(['email', 'date', 'uuid'])))
    for (const key of [
      'pattern',
      'format',
      'multipleOf',
      'uniqueItems',
      'items',
      'contains',
      'prefixItems',
      'dependentRequired',
    ])
      if (place[key] !== undefined) changes.push(() => void delete place[key])
    this.#pick(changes)()
    if (Array.isArray(place['enum']) && place['enum'].length === 0) place['enum'] = ['a']
  }
}
