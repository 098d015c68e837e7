/**
 * Creates bindings from the data of a YAML or JSON file, with the code that it refers to.
 *
 *     parsed file ─▶ keys as options have them ─▶ names become code ─▶ Binding ─▶ all rules of bindings
 *
 * One error reports the violations of all steps.
 */

import { OptionsError } from '@waybill/core'
import { type OptionViolation } from '@waybill/core/internal'
import { isPlainObject, nested, type Report, resolveOptions, unknownOption } from '@waybill/core/option'
import type { Binding } from '../api/binding.ts'
import type { ConfigCode } from '../api/config-code.ts'
import { defaultCluster } from '../api/define-binding.ts'
import { HandlerRegistry } from '../api/handler-registry.ts'
import { bindingPath, resolveBindings } from '../options/binding-options.ts'
import { bindingRules } from '../options/binding-rules.ts'
import { patternIn } from '../options/topic-selection.ts'
import { knownNames, unknownName } from '../options/unknown-name.ts'
import { type CodeOption, codeOptions, codeRules } from './code-options.ts'
import { withoutWord } from './deduplicate-word.ts'
import { namedErrors } from './named-errors.ts'
import { withOptionKeys } from './option-keys.ts'

type Data = Readonly<Record<string, unknown>>

/** The section of a file that also contains other configuration. */
const root = 'eventbus'

/**
 * Returns all bindings of a configuration, `{ bindings: { orders: { topic, group-id, … } } }`, optionally below the key
 * `eventbus`, for `createConnector`. Options have the names of {@link Binding}, in camelCase or with hyphens; durations
 * are milliseconds; null counts as absent.
 *
 * @throws OptionsError with every violation of any binding
 */
export function bindingsFromConfig(config: unknown, code: ConfigCode): Readonly<Record<string, Binding>> {
  return check((report) => {
    const given = bindingsIn(config, report)
    // A binding without any option: the rules report what is required.
    const read = ([name, data]: [string, unknown]) => [name, readBinding(name, data ?? {}, code, report)] as const
    return Object.fromEntries(Object.entries(given).map(read))
  }, code)
}

/**
 * Returns one binding of a configuration, to be registered under this name.
 *
 * @throws OptionsError with every violation
 */
export function bindingFromConfig(name: string, config: unknown, code: ConfigCode): Binding {
  const bindings = check((report) => ({ [name]: readBinding(name, config, code, report) }), code)
  return bindings[name] as Binding
}

/** Reads bindings and checks their rules, and reports all violations together. */
function check(
  read: (report: Report) => Readonly<Record<string, Binding>>,
  code: ConfigCode,
): Readonly<Record<string, Binding>> {
  // Checked first and separately: unknown names in the configuration would be mere consequences.
  const { clusters } = resolveOptions('The code of a configuration', codeRules, code)
  const violations: OptionViolation[] = []
  const bindings = read((path, problem) => violations.push({ path, problem }))
  const known = clusters === undefined ? clustersOf(bindings) : Object.keys(clusters as object)
  try {
    resolveBindings(bindings, known)
  } catch (error) {
    if (!(error instanceof OptionsError)) throw error
    violations.push(...error.violations)
  }
  if (violations.length > 0) throw new OptionsError('Configuration', violations)
  return Object.freeze(bindings)
}

function bindingsIn(config: unknown, report: Report): Data {
  const section = isPlainObject(config) && Object.hasOwn(config, root) ? config[root] : config
  if (!isPlainObject(section)) {
    report('', 'must be an object with bindings, as YAML and JSON make it')
    return {}
  }
  for (const key of Object.keys(section)) if (key !== 'bindings') report(key, unknownOption(key, ['bindings']))
  const bindings = section['bindings']
  if (isPlainObject(bindings)) return bindings
  report('bindings', 'must be an object with a binding for each name')
  return {}
}

function readBinding(name: string, data: unknown, code: ConfigCode, report: Report): Binding {
  const path = bindingPath(name)
  const binding = withOptionKeys(nested(bindingRules), data, path, report)
  // The rules report the violation.
  if (!isPlainObject(binding)) return binding as Binding
  const named = codeOptions.reduce<Data>((read, option) => withCode(read, option, name, code, report), {
    ...binding,
    topic: patternIn(binding['topic'], (problem, at = '') => report(`${path}.topic${at}`, problem)),
    deduplicate: withoutWord(binding['deduplicate'], name, code, (problem) => report(`${path}.deduplicate`, problem)),
  })
  return namedErrors(named, code.errors ?? {}) as unknown as Binding
}

/** Replaces the name in an option by the code. Code in place of a name stays unchanged. */
function withCode(binding: Data, option: CodeOption, name: string, code: ConfigCode, report: Report): Data {
  const [first, second] = option.path
  const outer = binding[first]
  if (second === undefined) return put(binding, first, codeFor(outer, {}, option, name, code, report))
  if (outer !== undefined && !isPlainObject(outer)) return binding
  const given = outer ?? {}
  const found = codeFor(given[second], given, option, name, code, report)
  return found === undefined ? binding : { ...binding, [first]: put(given, second, found) }
}

function codeFor(
  given: unknown,
  around: Data,
  { path, kind, unnamed, placeholder, words = [] }: CodeOption,
  name: string,
  code: ConfigCode,
  report: Report,
): unknown {
  if (given !== undefined && (typeof given !== 'string' || words.includes(given))) return given
  const known = lookup(code[kind])
  const wanted = given === undefined ? unnamed(name, around) : [given]
  const found = wanted.find((one) => known.names.includes(one))
  if (found !== undefined) return known.get(found)
  const at = `${bindingPath(name)}.${path.join('.')}`
  if (given !== undefined) report(at, unknownName(kind.replace(/(?<=x)es$|s$/, ''), given, [...words, ...known.names]))
  else if (kind === 'handlers')
    report(at, `is required: the binding names none, and there is no handler ${name}; ${knownNames(name, known.names)}`)
  else return undefined
  return placeholder
}

interface Lookup {
  readonly names: readonly string[]
  get(name: string): unknown
}

function lookup(given: ConfigCode[CodeOption['kind']]): Lookup {
  if (given instanceof HandlerRegistry) return { names: given.names(), get: (name) => given.get(name) }
  return { names: Object.keys(given ?? {}), get: (name) => given?.[name] }
}

function put(data: Data, key: string, value: unknown): Data {
  return value === undefined ? data : { ...data, [key]: value }
}

/** Returns the clusters of the bindings, which count as known if the code lists none. */
function clustersOf(bindings: Readonly<Record<string, Binding>>): string[] {
  return Object.values(bindings).flatMap((binding: Binding | undefined) => [binding?.cluster ?? defaultCluster])
}
