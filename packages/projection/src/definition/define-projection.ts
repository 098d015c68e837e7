import { createHash } from 'node:crypto'
import type { EventCatalog, Schemas, StandardSchema } from '@waybill/core'
import { type ColumnDefinition, columnTypes, type InferOutput } from '@waybill/core/internal'
import {
  boolean,
  func,
  instance,
  integer,
  isPlainObject,
  mapOf,
  nested,
  oneOf,
  optional,
  type Report,
  type Resolved,
  type Rule,
  resolveOptions,
  text,
} from '@waybill/core/option'
import type { Projection, ProjectionDefinition, ProjectionFold } from './projection.ts'

/** A declaration whose state type comes from its schema. */
type Declared<S extends Schemas, T extends StandardSchema> = Omit<ProjectionDefinition<S, InferOutput<T>>, 'state'> & {
  readonly state: T
}

/** A declared projection that has no fold yet. */
export interface ProjectionHead<S extends Schemas, State> {
  /**
   * Adds the fold.
   *
   * @throws OptionsError for a name that is not an event of the catalog, or for no event at all
   */
  on(fold: ProjectionFold<S, State>): Projection<S, State>
}

/**
 * Declares a read model: `defineProjection({ … }).on({ AccountOpened: (state, event) => … })`. Event names, payloads and
 * states have the types of the catalog and the schema, so that a mistake does not compile.
 *
 * @throws OptionsError with all violations
 */
export function defineProjection<S extends Schemas, T extends StandardSchema>(
  definition: Declared<S, T>,
): ProjectionHead<S, InferOutput<T>> {
  const resolved = resolveOptions('defineProjection', definitionRules, definition, checkNames)
  return Object.freeze({
    on(fold: ProjectionFold<S, InferOutput<T>>): Projection<S, InferOutput<T>> {
      const names = Object.keys(resolved.events.definitions)
      const rules = Object.fromEntries(names.map((name) => [name, optional(func())]))
      const checked = resolveOptions('The fold', rules, fold, requireOne)
      const columns = normalized(resolved.columns)
      const folded = Object.entries(checked).flatMap(([name, one]) => (one === undefined ? [] : [name]))
      const { name, revision, events, state, keyColumn, versions } = resolved
      return Object.freeze({
        name,
        revision,
        events: events as unknown as EventCatalog<S>,
        state,
        columns,
        keyColumn,
        versions,
        fold: Object.freeze(checked) as ProjectionFold<S, InferOutput<T>>,
        fingerprint: fingerprintOf([name, keyColumn, versions, columns, folded.toSorted()]),
      })
    },
  })
}

// PostgreSQL truncates names at 63 bytes, and the tables of builds have suffixes.
const sqlName = { pattern: /^[a-zA-Z_][a-zA-Z0-9_]{0,39}$/, called: 'up to 40 letters, digits and underscores' }

const columnRule = nested({
  type: oneOf(columnTypes),
  isIndexed: boolean({ default: false, because: 'an index costs time with each write' }),
})

const definitionRules = {
  name: text(sqlName),
  revision: integer({ default: 1, min: 1, max: 1_000_000, because: 'the first one' }),
  events: instance<EventCatalog<Schemas>>('a catalog made by defineEvents', (value) =>
    isPlainObject((value as Partial<EventCatalog<Schemas>> | null)?.definitions),
  ),
  state: instance<StandardSchema>('a Standard Schema (zod, valibot, arktype or fromJsonSchema)', isStandardSchema),
  columns: mapOf(eitherTypeOrDefinition()),
  keyColumn: text({ ...sqlName, default: 'id', because: 'the usual name of a primary key' }),
  versions: oneOf(['AGGREGATE', 'POSITION'], {
    default: 'AGGREGATE',
    because: 'only versions show that an event is missing',
  }),
}

/** A column is its type, or an object that has more to say. */
function eitherTypeOrDefinition(): Rule<ColumnDefinition> {
  const short = oneOf(columnTypes)
  return {
    ...columnRule,
    required: true,
    fallback: undefined,
    expects: `${short.expects}, or { type, isIndexed }`,
    accepts: (value) => short.accepts(value) || columnRule.accepts(value),
    ...(short.meant === undefined ? {} : { meant: short.meant }),
    inside: (value, path, report) =>
      typeof value === 'string'
        ? { type: value as ColumnDefinition['type'] }
        : (columnRule.inside?.(value, path, report) as ColumnDefinition),
  }
}

/** The columns that every table has besides those of the state. */
const ownColumns = ['version', 'row_status']

/** The suffix of the table of a build. */
const buildSuffix = /_b\d+$/i

function checkNames({ name: projection, columns, keyColumn }: Resolved<typeof definitionRules>, report: Report): void {
  if (buildSuffix.test(projection))
    report('name', 'must not end with _b and digits: so do the tables that read models are built in')
  const names = Object.keys(columns)
  if (names.length === 0) report('columns', 'must have at least one column')
  for (const [name, { type, isIndexed }] of Object.entries(columns))
    if (isIndexed === true && (type === 'json' || type === 'bytes'))
      report(
        `columns.${name}.isIndexed`,
        'must be false for json and bytes: databases bound the size of an index entry',
      )
  for (const name of names) {
    if (!sqlName.pattern.test(name)) report(`columns.${name}`, `must be called by ${sqlName.called}`)
    if (ownColumns.includes(name.toLowerCase()))
      report(`columns.${name}`, 'is the name of a column of every projection')
    if (name.toLowerCase() === keyColumn.toLowerCase()) report(`columns.${name}`, 'is the name of the key column')
  }
  if (new Set(names.map((name) => name.toLowerCase())).size < names.length)
    report('columns', 'must differ in more than upper and lower case: databases ignore it')
  if (ownColumns.includes(keyColumn.toLowerCase())) report('keyColumn', 'is the name of a column of every projection')
}

function requireOne(fold: object, report: Report): void {
  if (Object.values(fold).every((one) => one === undefined)) report('', 'must have a function for at least one event')
}

function normalized(columns: Readonly<Record<string, ColumnDefinition>>): Record<string, Required<ColumnDefinition>> {
  const entries = Object.entries(columns).map(([name, { type, isIndexed = false }]) => [
    name,
    Object.freeze({ type, isIndexed }),
  ])
  return Object.freeze(Object.fromEntries(entries)) as Record<string, Required<ColumnDefinition>>
}

function fingerprintOf(parts: unknown): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 16)
}

function isStandardSchema(value: unknown): boolean {
  const standard = (value as { '~standard'?: { validate?: unknown } } | null)?.['~standard']
  return typeof standard?.validate === 'function'
}
