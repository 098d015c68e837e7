import type { TextSets } from '../pattern/text-set.ts'
import type { JsonValue } from '../schema/json.ts'
import type { Evaluate } from '../validate/evaluate.ts'
import { isMemberOf, memberNodesOf } from '../validate/member-schemas.ts'
import { type Answer, found, none, unknown } from './answer.ts'
import { declaredInside, declaredNames, inPlaceOf, mayWrite } from './declared-names.ts'
import type { Demands, SolveMember } from './demands.ts'
import { type Atom, accepts, type Literal } from './literal.ts'
import { type MemberNames, memberNames } from './member-names.ts'

/** Most ways of naming members that are tried. */
const mostNamings = 400

type SomeAtom = Extract<Atom, { kind: 'SOME_MEMBER' | 'SOME_NAME' }>

/** The parts of an object search that all tries share. */
interface ObjectPlan {
  readonly demands: Demands
  readonly required: ReadonlySet<string>
  readonly absent: ReadonlySet<string>
  readonly members: ReadonlyMap<string, readonly Literal[]>
  readonly min: number
  readonly max: number
  readonly names: MemberNames
  /** UNKNOWN for a name of which it cannot be said. */
  readonly mayHave: (name: string) => boolean | undefined
}

/** Finds an object: names for the demands on some member first, then a value for each member it needs. */
export function findObject(sets: TextSets, evaluate: Evaluate, demands: Demands, solve: SolveMember): Answer {
  const plan = planOf(sets, evaluate, demands)
  if (plan.min > plan.max) return none
  if ([...plan.required].some((name) => plan.absent.has(name) || plan.mayHave(name) === false)) return none
  if ([...plan.members.keys()].some((name) => plan.absent.has(name) || plan.mayHave(name) === false)) return none
  const some = demands.atoms.filter(
    (atom): atom is SomeAtom => atom.kind === 'SOME_MEMBER' || atom.kind === 'SOME_NAME',
  )
  let isExact = plan.names.isComplete || some.length === 0
  let tried = 0
  for (const named of namingsOf(plan, some, evaluate)) {
    tried += 1
    if (tried > mostNamings) return unknown
    const answer = findNamed(plan, named, solve)
    if (answer.kind === 'FOUND') return answer
    if (answer.kind === 'UNKNOWN') isExact = false
  }
  return isExact ? none : unknown
}

function planOf(sets: TextSets, evaluate: Evaluate, demands: Demands): ObjectPlan {
  const { nodes, atoms, accepted } = demands
  const required = new Set(nodes.flatMap((node) => node.required ?? []))
  const absent = new Set(atoms.flatMap((atom) => (atom.kind === 'ABSENT' ? atom.name : [])))
  const members = new Map<string, Literal[]>()
  for (const atom of atoms)
    if (atom.kind === 'MEMBER') members.set(atom.name, [...(members.get(atom.name) ?? []), atom.literal])
  const written = accepted.filter(({ isWritten }) => isWritten).map(({ node }) => node)
  const beside = inPlaceOf(demands.declares)
  const declared = declaredNames(written, beside)
  const nameSchemas = nodes.flatMap(({ propertyNames }) => propertyNames ?? [])
  const mayHave = (name: string): boolean | undefined => {
    if (!mayWrite(declared, name)) return false
    const verdicts = nameSchemas.map((node) => evaluate(node, name))
    if (verdicts.includes('NO')) return false
    return verdicts.includes('UNKNOWN') ? undefined : true
  }
  const refusedBy = atoms.flatMap((atom) => (atom.kind === 'SOME_NAME' ? atom.refusedBy : []))
  const of = atoms.flatMap((atom) => (atom.kind === 'SOME_MEMBER' ? atom.of : []))
  const max = Math.min(...nodes.map(({ maxProperties }) => maxProperties ?? Number.POSITIVE_INFINITY))
  const min = Math.max(0, ...nodes.map(({ minProperties }) => minProperties ?? 0))
  const needsNames = min > required.size || refusedBy.length > 0 || of.length > 0
  // One name of a class may not do for two demands, and an absent name does for none.
  const count = Math.max(1, refusedBy.length + of.length)
  const known = [...members.keys(), ...required, ...absent]
  const names = needsNames
    ? memberNames(sets, [...nodes, ...of], refusedBy, declared, known, count)
    : { mentioned: new Set<string>(), others: [], isComplete: true }
  return { demands, required, absent, members, min, max, names, mayHave }
}

/** Generates names for the demands on some member, those that the object has anyway first. */
function* namingsOf(
  plan: ObjectPlan,
  some: readonly SomeAtom[],
  evaluate: Evaluate,
  at = 0,
): Generator<readonly (readonly [string, Literal | undefined])[]> {
  const atom = some[at]
  if (atom === undefined) {
    yield []
    return
  }
  const { mentioned, others } = plan.names
  const present = new Set([...plan.members.keys(), ...plan.required])
  const candidates = [...present, ...[...mentioned].filter((name) => !present.has(name)), ...others]
  for (const name of candidates) {
    if (plan.absent.has(name) || plan.mayHave(name) === false || !concerns(atom, name, evaluate)) continue
    const literal = atom.kind === 'SOME_MEMBER' ? atom.literal : undefined
    for (const rest of namingsOf(plan, some, evaluate, at + 1)) yield [[name, literal], ...rest]
  }
}

function concerns(atom: SomeAtom, name: string, evaluate: Evaluate): boolean {
  if (atom.kind === 'SOME_NAME') return evaluate(atom.refusedBy, name) !== 'YES'
  if (atom.pattern !== null) return isMemberOf(atom.pattern, name) !== false
  const { properties, patternProperties = [] } = atom.of
  return properties?.has(name) !== true && patternProperties.every(([pattern]) => isMemberOf(pattern, name) !== true)
}

function findNamed(
  plan: ObjectPlan,
  named: readonly (readonly [string, Literal | undefined])[],
  solve: SolveMember,
): Answer {
  const demanded = new Map(plan.members)
  for (const [name, literal] of named)
    demanded.set(name, [...(demanded.get(name) ?? []), ...(literal === undefined ? [] : [literal])])
  // Demanded members first: they are the ones that may fail.
  const needed = new Set([...demanded.keys(), ...plan.required])
  if (needed.size > plan.max) return none
  const value: Record<string, JsonValue> = {}
  let isKnown = true
  for (const name of needed) {
    const answer = solveMember(plan, name, demanded.get(name) ?? [], solve)
    if (answer.kind === 'NONE') return none
    if (answer.kind === 'UNKNOWN') isKnown = false
    else define(value, name, answer.value)
  }
  if (!isKnown) return unknown
  return needed.size < plan.min ? addMembers(plan, value, solve) : found(value)
}

/** Adds members until there are enough. */
function addMembers(plan: ObjectPlan, value: Record<string, JsonValue>, solve: SolveMember): Answer {
  const { mentioned, others } = plan.names
  let isExact = plan.names.isComplete
  const offered = [
    ...mentioned,
    ...others,
    ...others.flatMap((name) => Array.from({ length: plan.min }, (_, n) => `${name}${n}`)),
  ]
  for (const name of offered) {
    if (Object.keys(value).length >= plan.min) break
    if (Object.hasOwn(value, name) || plan.absent.has(name) || plan.mayHave(name) === false) continue
    const answer = solveMember(plan, name, [], solve)
    if (answer.kind === 'UNKNOWN') isExact = false
    if (answer.kind === 'FOUND') define(value, name, answer.value)
  }
  if (Object.keys(value).length >= plan.min) return found(value)
  // A class of names may hold more of them than were tried.
  return isExact && others.length === 0 ? none : unknown
}

function solveMember(plan: ObjectPlan, name: string, demanded: readonly Literal[], solve: SolveMember): Answer {
  const literals = memberLiterals(plan.demands, name)
  return literals === undefined ? unknown : solve([...demanded, ...literals])
}

/** Returns the demands of all accepted schemas on a member; undefined where a pattern of names cannot be read. */
export function memberLiterals({ accepted, declares: beside }: Demands, name: string): readonly Literal[] | undefined {
  const literals: Literal[] = []
  for (const { node, isWritten } of accepted) {
    const inner = memberNodesOf(node, name)
    if (inner === undefined) return undefined
    for (const each of inner) literals.push(accepts(each, isWritten))
  }
  const others = inPlaceOf(beside).flatMap((node) => memberNodesOf(node, name) ?? [])
  return [...literals, ...declaredInside(others, literals)]
}

function define(value: Record<string, JsonValue>, name: string, member: JsonValue): void {
  Object.defineProperty(value, name, { value: member, enumerable: true, writable: true, configurable: true })
}
