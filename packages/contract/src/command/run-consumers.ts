import { describeThrown } from '@waybill/core'
import type { ContractFile } from '../file/contract-file.ts'
import type { GateFinding } from '../gate/gate-finding.ts'
import { checkOutBase } from '../repository/base-code.ts'
import { type LoadedCatalog, loadCatalogs } from '../repository/load-catalogs.ts'
import { existingOf, type LoadedConsumers, loadConsumers } from '../repository/load-consumers.ts'
import { checkKeys } from '../trial/check-keys.ts'
import type { ContractConsumer } from '../trial/contract-consumer.ts'
import { baseNotLoaded, crossCheck, newContracts } from '../trial/cross-check.ts'
import type { CommandContext } from './command.ts'

/** The contracts of both sides, the base, and the modules to load. */
export interface RunConsumersOptions {
  readonly current: readonly ContractFile[]
  readonly against: readonly ContractFile[]
  readonly base: string
  readonly catalogs: readonly LoadedCatalog[]
  readonly paths: readonly string[]
}

const none: LoadedConsumers = { consumers: [], samples: {} }

/**
 * Runs the consumers of modules with generated events, and those of the base beside them. Upcast steps of the catalogs are tried
 * in any case, since the check relies on them.
 */
export async function runConsumers(
  context: CommandContext,
  options: RunConsumersOptions,
): Promise<readonly GateFinding[]> {
  const { current, against, base, catalogs, paths } = options
  const { consumers, samples } = paths.length === 0 ? none : await loadConsumers(context.cwd, paths)
  const steps = catalogs.flatMap(stepsOf).filter(({ name }) => consumers.every((other) => other.name !== name))
  if (consumers.length + steps.length === 0) return []
  await using code = paths.length > 0 && base.startsWith('git:') ? await checkOutBase(context.cwd, base) : null
  const existing = code === null ? none : await loadExisting(context, base, code.cwd, paths)
  if (code === null && paths.length > 0)
    context.err(`${base} is a folder of contracts: consumers of the base were not run.\n`)
  const { findings, tried } = await crossCheck({
    current,
    against,
    consumers: [...consumers, ...steps],
    existing: typeof existing === 'string' ? [] : existing.consumers,
    samples,
  })
  context.err(`${tried} generated events were given to consumers\n`)
  const keys = code === null ? [] : await compareKeys(context, code.cwd, options, samples)
  if (typeof existing !== 'string') return [...findings, ...keys]
  const untried = newContracts(current, against)
  return [...findings, ...keys, ...untried.map((contract) => baseNotLoaded(contract, existing))]
}

function stepsOf({ path, exportName, catalog }: LoadedCatalog): readonly ContractConsumer[] {
  const hasSteps = Object.values(catalog.definitions).some(({ upcasters }) => upcasters !== undefined)
  return hasSteps ? [{ name: `${path} ${exportName}`, events: catalog }] : []
}

/** Compares the keys of events with those of the base, whose catalogs lie where they lie here. */
async function compareKeys(
  { err }: CommandContext,
  cwd: string,
  { against, base, catalogs }: RunConsumersOptions,
  samples: LoadedConsumers['samples'],
): Promise<readonly GateFinding[]> {
  const paths = [...new Set(catalogs.map(({ path }) => path))]
  try {
    const existing = await loadCatalogs(cwd, existingOf(cwd, paths))
    const [before, after] = [existing, catalogs].map((loaded) => loaded.map(({ catalog }) => catalog))
    return await checkKeys({ catalogs: after ?? [], existing: before ?? [], released: against, samples })
  } catch (error) {
    err(`The keys of events were not compared, since a catalog of ${base} does not load: ${describeThrown(error)}\n`)
    return []
  }
}

/** Returns the consumers of the base, or the reason why its code does not load. */
async function loadExisting(
  { err }: CommandContext,
  base: string,
  cwd: string,
  paths: readonly string[],
): Promise<LoadedConsumers | string> {
  const existing = existingOf(cwd, paths)
  for (const path of paths)
    if (!existing.includes(path)) err(`${base} does not have ${path}: it has no consumers there to run.\n`)
  try {
    return existing.length === 0 ? none : await loadConsumers(cwd, existing)
  } catch (error) {
    return describeThrown(error)
  }
}
