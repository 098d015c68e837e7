import { TextSets } from '../pattern/text-set.ts'
import { type JsonType, type JsonValue, jsonEquals, jsonTypeOf, jsonTypes } from '../schema/json.ts'
import { listHas } from '../schema/listed-values.ts'
import { createNode, type SchemaNode } from '../schema/schema-node.ts'
import { createEvaluator, type Evaluate } from '../validate/evaluate.ts'
import { acceptance } from './accept.ts'
import { type Answer, firstOf, found, none, unknown } from './answer.ts'
import { OpenDemands } from './demands.ts'
import { findArray } from './find-array.ts'
import { findNumber } from './find-number.ts'
import { findObject, memberLiterals } from './find-object.ts'
import { findTextValue } from './find-text-value.ts'
import { type Alternative, accepts, type Choice, type Literal, mayHaveType } from './literal.ts'
import { refusals } from './refuse.ts'
import { listedValuesOf } from './tags.ts'

/** How a search treats formats, and how long it may take. */
export interface SearchOptions {
  readonly assertsFormat: boolean
  readonly mostSteps: number
  /** Those of another search, so that patterns are not searched twice. */
  readonly sets?: TextSets
}

/** Work with patterns that counts as one step of a search. */
const patternWorkOfAStep = 200
/** Required members of an object that count as one step. */
const membersOfAStep = 50

/**
 * Searches a value that some schemas accept and others refuse.
 *
 * A goal is a set of such demands. Its proof that there is no value may rest on itself: a value that needs a smaller one
 * with the same demands is never the smallest, so a goal that is met again on its own path has none. A proof that rests on an
 * open goal is kept only until that goal is decided.
 */
export class Search {
  readonly #options: SearchOptions
  readonly #evaluate: Evaluate
  readonly #sets: TextSets
  readonly #firstOfText = new Map<string, number>()
  readonly #proven = new Map<string, Answer>()
  readonly #open = new Map<string, number>()
  /** Proofs that rest on open goals, in order; the number is the depth of the outermost of them. */
  readonly #assumed = new Map<string, number>()
  #lowest = Number.POSITIVE_INFINITY
  #steps = 0

  constructor(options: SearchOptions) {
    this.#options = options
    this.#sets = options.sets ?? new TextSets()
    this.#evaluate = createEvaluator(options)
  }

  /** True if the search ended because it took too long. */
  get isExhausted(): boolean {
    return this.#steps > this.#options.mostSteps
  }

  /** Schemas with equal texts and no references are one, whichever document they are in: the first of them stands for all. */
  #identityOf({ text, id }: SchemaNode): number {
    if (text === undefined) return id
    const first = this.#firstOfText.get(text)
    if (first !== undefined) return first
    this.#firstOfText.set(text, id)
    return id
  }

  /** The key of a goal; undefined for one that contradicts itself. */
  #keyOf(literals: readonly Literal[]): string | undefined {
    const keys = new Set<string>()
    const marks = new Map<number, boolean>()
    for (const { node, holds, isWritten, isBeside } of literals) {
      const identity = this.#identityOf(node)
      if (isBeside === true) {
        keys.add(`d${identity}`)
        continue
      }
      if (marks.get(identity) === !holds) return undefined
      marks.set(identity, holds)
      keys.add(`${holds ? (isWritten ? 'w' : '+') : '-'}${identity}`)
    }
    return [...keys].toSorted().join(' ')
  }

  /** Solves a goal. */
  solve(literals: readonly Literal[]): Answer {
    const key = this.#keyOf(literals)
    if (key === undefined) return none
    const proven = this.#proven.get(key)
    if (proven !== undefined) return proven
    const restsOn = this.#open.get(key) ?? this.#assumed.get(key)
    if (restsOn !== undefined) {
      this.#lowest = Math.min(this.#lowest, restsOn)
      return none
    }
    this.#steps += 1
    if (this.isExhausted || this.#open.size > 250) return unknown
    return this.#decide(key, literals)
  }

  #decide(key: string, literals: readonly Literal[]): Answer {
    const depth = this.#open.size
    const [outerLowest, assumedBefore] = [this.#lowest, this.#assumed.size]
    this.#lowest = Number.POSITIVE_INFINITY
    this.#open.set(key, depth)
    const answer = firstOf(this.#solveByType(literals))
    this.#open.delete(key)
    const restsOn = this.#lowest
    const assumedSince = [...this.#assumed.keys()].slice(assumedBefore)
    if (answer.kind === 'NONE' && restsOn < depth) this.#assumed.set(key, restsOn)
    else {
      for (const each of assumedSince) {
        this.#assumed.delete(each)
        if (answer.kind === 'NONE') this.#proven.set(each, none)
      }
      if (answer.kind !== 'UNKNOWN') this.#proven.set(key, answer)
    }
    // An answer other than NONE rests on nothing, but the search for it may have.
    this.#lowest = Math.min(outerLowest, restsOn < depth ? restsOn : Number.POSITIVE_INFINITY)
    return answer
  }

  *#solveByType(literals: readonly Literal[]): Generator<Answer> {
    const accepted = literals.filter(({ holds, isBeside }) => holds && isBeside !== true)
    for (const type of jsonTypes) {
      if (!accepted.every(({ node }) => mayHaveType(node, type))) continue
      const demands = new OpenDemands(type)
      if (this.#add(demands, literals)) yield this.#explore(demands, literals)
    }
  }

  /** Adds demands and all that follows from them; false for a contradiction. */
  #add(demands: OpenDemands, literals: readonly Literal[]): boolean {
    const queue = [...literals]
    for (let literal = queue.pop(); literal !== undefined; literal = queue.pop()) {
      const { node, holds, isBeside } = literal
      if (isBeside === true) {
        demands.declares.push(node)
        continue
      }
      const identity = this.#identityOf(node)
      if (demands.seen.has(`${holds ? '-' : '+'}${identity}`)) return false
      const key = `${holds ? '+' : '-'}${identity}`
      if (demands.seen.has(key) && (!literal.isWritten || demands.seen.has(`w${identity}`))) continue
      demands.seen.add(key)
      if (literal.isWritten) demands.seen.add(`w${identity}`)
      if (holds ? !this.#accept(demands, literal, queue) : !this.#refuse(demands, node, queue)) return false
    }
    return true
  }

  #accept(demands: OpenDemands, literal: Literal, queue: Literal[]): boolean {
    const { node } = literal
    if (!mayHaveType(node, demands.type)) return false
    if (node.types?.has('integer') === true && !node.types.has('number')) demands.isInteger = true
    if (node.enum !== undefined) {
      const listed = node.enum
      demands.values =
        demands.values?.filter((value) => listHas(listed, value)) ??
        listed.filter((value) => jsonTypeOf(value) === demands.type)
      if (demands.values.length === 0) return false
    }
    demands.accepted.push(literal)
    const { literals, choices } = acceptance(literal, demands.type)
    queue.push(...literals)
    demands.choices.push(...choices)
    return true
  }

  #refuse(demands: OpenDemands, node: SchemaNode, queue: Literal[]): boolean {
    // A value of a type that the schema does not accept is refused without more.
    if (!mayHaveType(node, demands.type)) return true
    const alternatives = refusals(node, demands.type)
    const [only] = alternatives
    if (only === undefined) return false
    if (alternatives.length > 1) demands.choices.push({ alternatives, denied: node })
    else {
      queue.push(...only.literals)
      demands.atoms.push(...only.atoms)
    }
    return true
  }

  #explore(demands: OpenDemands, goal: readonly Literal[]): Answer {
    this.#steps += 1
    if (this.isExhausted) return unknown
    if (demands.values !== undefined) return this.#chooseListed(demands.values, goal)
    if (!this.#simplify(demands)) return none
    if (demands.values !== undefined) return this.#chooseListed(demands.values, goal)
    const [choice] = demands.choices.toSorted((one, other) => one.alternatives.length - other.alternatives.length)
    if (choice === undefined) return this.#find(demands, goal)
    demands.choices.splice(demands.choices.indexOf(choice), 1)
    let isProof = true
    for (const alternative of choice.alternatives) {
      if (this.isExhausted) return unknown
      const branch = new OpenDemands(demands.type, demands)
      if (!this.#take(branch, alternative)) continue
      const answer = this.#explore(branch, goal)
      if (answer.kind === 'FOUND') return answer
      if (answer.kind === 'UNKNOWN') isProof = false
    }
    return isProof ? none : unknown
  }

  #take(demands: OpenDemands, { literals, atoms, declares }: Alternative): boolean {
    demands.atoms.push(...atoms)
    demands.declares.push(...(declares ?? []))
    return this.#add(demands, literals)
  }

  /** Decides choices that leave one way or none, until nothing changes; false for a contradiction. */
  #simplify(demands: OpenDemands): boolean {
    for (let changed = true; changed; ) {
      changed = false
      for (const choice of demands.choices.slice()) {
        if (choice.denied !== undefined && this.#isRefusedByTag(demands, choice.denied)) {
          demands.choices.splice(demands.choices.indexOf(choice), 1)
          changed = true
          continue
        }
        const alternatives = choice.alternatives.filter((alternative) => this.#isPossible(demands, alternative))
        const [only] = alternatives
        if (only === undefined) return false
        const index = demands.choices.indexOf(choice)
        if (alternatives.length === 1) {
          demands.choices.splice(index, 1)
          if (!this.#take(demands, only)) return false
          changed = true
        } else if (alternatives.length < choice.alternatives.length) {
          const fewer: Choice = choice.denied === undefined ? { alternatives } : { alternatives, denied: choice.denied }
          demands.choices.splice(index, 1, fewer)
        }
      }
    }
    return true
  }

  /** A member of a discriminated union: its tag has a listed value that the denied schema refuses. */
  #isRefusedByTag(demands: OpenDemands, denied: SchemaNode): boolean {
    if (demands.type !== 'object' || denied.properties === undefined) return false
    return [...denied.properties].some(([name, refusing]) => {
      if (!isRequired(demands, name)) return false
      const tags = this.#tagValues(demands, name)
      return tags?.every((value) => this.#evaluate(refusing, value) === 'NO') === true
    })
  }

  #isPossible(demands: OpenDemands, { atoms, literals }: Alternative): boolean {
    if (literals.some(({ node, holds }) => holds && !mayHaveType(node, demands.type))) return false
    if (demands.type !== 'object') return true
    for (const literal of literals) {
      if (!literal.holds) continue
      for (const [name, property] of literal.node.properties ?? []) {
        const tags = listedValuesOf(property) === undefined ? undefined : this.#tagValues(demands, name)
        if (
          tags !== undefined &&
          isRequired(demands, name) &&
          tags.every((tag) => this.#evaluate(property, tag) === 'NO')
        )
          return false
      }
    }
    return atoms.every((atom) => {
      if (atom.kind === 'ABSENT') return !isRequired(demands, atom.name)
      if (atom.kind !== 'MEMBER') return true
      const others = memberLiterals(demands, atom.name)
      if (others === undefined) return true
      // Branches that are not chosen yet may declare more members.
      const isOpen = demands.choices.some(({ denied }) => denied === undefined)
      const fitting = isOpen ? others.map(({ node }) => accepts(node)) : others
      return this.solve([atom.literal, ...fitting]).kind !== 'NONE'
    })
  }

  #tagValues(demands: OpenDemands, name: string): readonly JsonValue[] | undefined {
    for (const node of demands.nodes) {
      const property = node.properties?.get(name)
      const values = property === undefined ? undefined : listedValuesOf(property)
      if (values !== undefined) return values
    }
    return undefined
  }

  /** A schema lists the values: each is looked at. */
  #chooseListed(values: readonly JsonValue[], goal: readonly Literal[]): Answer {
    let isProof = true
    for (const value of values) {
      const verdict = this.#fits(value, goal)
      if (verdict === 'YES') return found(value)
      if (verdict === 'UNKNOWN') isProof = false
    }
    return isProof ? none : unknown
  }

  #fits(value: JsonValue, goal: readonly Literal[]): 'YES' | 'NO' | 'UNKNOWN' {
    let isSure = true
    for (const { node, holds, isBeside } of goal) {
      if (isBeside === true) continue
      const verdict = this.#evaluate(node, value)
      if (verdict === (holds ? 'NO' : 'YES')) return 'NO'
      if (verdict === 'UNKNOWN') isSure = false
    }
    return isSure ? 'YES' : 'UNKNOWN'
  }

  #find(demands: OpenDemands, goal: readonly Literal[]): Answer {
    const answer = this.#findUnlisted(demands)
    if (answer.kind !== 'FOUND') return answer
    const isInexact =
      demands.atoms.some(({ kind }) => kind === 'UNDECIDED') ||
      demands.nodes.some(
        ({ unknown: keywords, unevaluatedItems, unevaluatedProperties, contains }) =>
          keywords !== undefined ||
          unevaluatedItems !== undefined ||
          unevaluatedProperties !== undefined ||
          contains?.max !== undefined,
      )
    return !isInexact || this.#fits(answer.value, goal) === 'YES' ? answer : unknown
  }

  /** Arrays and objects are searched as a whole; one that is excluded gives way to a larger one. */
  #findUnlisted(demands: OpenDemands): Answer {
    const answer = this.#findOfType(demands)
    if (answer.kind !== 'FOUND' || (demands.type !== 'array' && demands.type !== 'object')) return answer
    const excluded = demands.atoms.flatMap((atom) => (atom.kind === 'NOT_ONE_OF' ? atom.values : []))
    const isExcluded = (value: JsonValue): boolean => excluded.some((other) => jsonEquals(other, value))
    if (!isExcluded(answer.value)) return answer
    const size = Object.keys(answer.value as object).length
    for (let more = 1; more <= excluded.length; more += 1) {
      const larger = new OpenDemands(demands.type, demands)
      larger.accepted.push(accepts(createNode('', { minItems: size + more, minProperties: size + more })))
      const next = this.#findOfType(larger)
      if (next.kind === 'FOUND' && !isExcluded(next.value)) return next
    }
    return unknown
  }

  #findOfType(demands: OpenDemands): Answer {
    const solve = (literals: readonly Literal[]): Answer => this.solve(literals)
    const workBefore = this.#sets.work
    const find: Readonly<Record<JsonType, () => Answer>> = {
      object: () => findObject(this.#sets, this.#evaluate, demands, solve),
      array: () => findArray(demands, solve),
      string: () => findTextValue(this.#sets, demands, this.#options.assertsFormat),
      number: () => findNumber(demands),
      boolean: () => findOutside(demands, [true, false]),
      null: () => findOutside(demands, [null]),
    }
    const answer = find[demands.type]()
    if (demands.type === 'object')
      this.#steps += Math.floor(
        demands.nodes.reduce((sum, { required }) => sum + (required?.length ?? 0), 0) / membersOfAStep,
      )
    if (demands.type === 'string') this.#steps += Math.floor((this.#sets.work - workBefore) / patternWorkOfAStep)
    return answer
  }
}

function findOutside({ atoms }: OpenDemands, values: readonly JsonValue[]): Answer {
  const excluded = atoms.flatMap((atom) => (atom.kind === 'NOT_ONE_OF' ? atom.values : []))
  const left = values.filter((value) => !excluded.includes(value))
  return left[0] === undefined ? none : found(left[0])
}

const requiredNames = new WeakMap<readonly string[], ReadonlySet<string>>()

function isRequired({ nodes }: OpenDemands, name: string): boolean {
  return nodes.some(({ required }) => {
    if (required === undefined) return false
    const names = requiredNames.get(required) ?? new Set(required)
    requiredNames.set(required, names)
    return names.has(name)
  })
}
