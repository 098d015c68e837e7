import { type Runtime, systemRuntime } from '@waybill/core'
import { instance, nested, orFalse, type Rule, resolveOptions, text } from '@waybill/core/option'
import { type ComponentName, components } from './components.ts'

/** Options of migrations: which tables to create. */
export interface MigrateOptions {
  /**
   * Table names that differ from the defaults; false omits a table. Those of projections, requests and operators are created
   * only if named: `{ projection: 'projection', request: 'request_mark', admin: 'waybill' }`.
   */
  readonly tables?: Readonly<Partial<Record<ComponentName, string | false>>> | undefined
  /** The clock for waiting on another process. @defaultValue the system's */
  readonly runtime?: Runtime | undefined
}

const tableRules = Object.fromEntries(
  Object.entries(components).map(([name, { defaultTable }]) => [
    name,
    orFalse(
      text(),
      defaultTable === false
        ? { default: defaultTable, because: 'most databases need none' }
        : { default: defaultTable, because: 'the stores use it by default' },
    ),
  ]),
) as Readonly<Record<ComponentName, Rule<string | false>>>

const optionRules = {
  tables: nested(tableRules),
  runtime: instance<Runtime>('a runtime', (value) => typeof value === 'object' && value !== null, {
    default: systemRuntime,
    because: 'only tests replace it',
  }),
}

/** {@link MigrateOptions} with defaults applied. */
export interface ResolvedMigrateOptions {
  readonly tables: Readonly<Record<ComponentName, string | false>>
  readonly runtime: Runtime
}

/** @throws an OptionsError with every violation: a misspelled table would be created under its default name */
export function resolveMigrateOptions(given: MigrateOptions): ResolvedMigrateOptions {
  return resolveOptions('migrate', optionRules, given)
}
