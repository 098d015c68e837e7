import { readFile } from 'node:fs/promises'
import { join, posix } from 'node:path'
import { StateError } from '@waybill/core'
import { contractPath } from '../file/contract-file.ts'
import { type ContractWaiver, readWaivers } from '../file/waiver.ts'
import { checkContracts } from '../gate/check-contracts.ts'
import { checkSteps } from '../gate/check-steps.ts'
import { checkWritten } from '../gate/check-written.ts'
import type { CompatibilityMode } from '../policy/compatibility-mode.ts'
import { waiverFile } from '../report/report-entry.ts'
import { type ReportFormat, reportText } from '../report/report-text.ts'
import { type ContractFolder, readBase, readContractFolder, readForkPaths } from '../repository/contract-folder.ts'
import { folderInRepository } from '../repository/git-base.ts'
import { contractsOfCatalogs, loadCatalogs } from '../repository/load-catalogs.ts'
import { checkExported } from '../trial/check-exported.ts'
import { type Command, type CommandContext, type ExitCode, type GivenOptions, wrongUse } from './command.ts'
import { checkOptions, defaultFolder, sharedOptions } from './contract-options.ts'
import { runConsumers } from './run-consumers.ts'

/** Compares the contracts of the working folder with those of a base. */
export const checkCommand: Command = {
  name: 'check',
  about: 'compares the contracts with those of a base',
  examples: [
    'waybill-contract check --against git:origin/main',
    'waybill-contract check --against git:origin/main --catalog src/events.ts --policy FULL --format github --strict',
    'waybill-contract check --against git:origin/main --catalog src/events.ts --consumers src/consumers.ts',
  ],
  options: { ...checkOptions, ...sharedOptions },
  run: check,
}

async function check({ texts, lists, flags, words }: GivenOptions, context: CommandContext): Promise<ExitCode> {
  const { against, policy, format = 'text', folder = defaultFolder, waivers } = texts
  if (against === undefined) return wrongUse(context, 'check needs --against, such as --against git:origin/main.')
  if (words.length > 0) return wrongUse(context, `check takes options only, not ${words.join(' ')}.`)
  const { cwd, today } = context
  const files = await readContractFolder(join(cwd, folder))
  const loaded = lists['catalog'] === undefined ? undefined : await loadCatalogs(cwd, lists['catalog'])
  const written =
    loaded === undefined
      ? { contracts: files.contracts, findings: [] }
      : checkWritten(contractsOfCatalogs(cwd, loaded), files.contracts)
  const base = await readBase(cwd, against, folder)
  if (written.contracts.length + base.contracts.length === 0)
    throw new StateError(`Neither ${folder} nor ${against} has contract files.`, {
      hint: 'Name the folder with --folder, or write the files with `waybill-contract write`.',
    })
  const released = await releasedBefore(base, files, context, against, folder)
  const exported = await Promise.all((loaded ?? []).map(({ catalog }) => checkExported(catalog)))
  const steps = (loaded ?? []).flatMap(({ catalog }) => checkSteps(catalog, released))
  const crossed = await runConsumers(context, {
    current: written.contracts,
    against: released,
    base: against,
    catalogs: loaded ?? [],
    paths: lists['consumers'] ?? [],
  })
  const report = checkContracts({
    current: written.contracts,
    against: released,
    policy: policy as CompatibilityMode | undefined,
    strict: flags.has('strict'),
    waivers: await waiversOf(cwd, folder, waivers),
    releasedWaivers: waivers === undefined ? releasedWaiversOf(base) : [],
    others: [...written.findings, ...steps, ...exported.flat(), ...crossed],
    today,
  })
  if (base.contracts.length === 0) context.err(`${against} has no contracts in ${folder}: nothing to compare with.\n`)
  const place = posix.normalize(posix.join(await folderInRepository(cwd), folder))
  context.out(reportText(report, format as ReportFormat, place, files.texts))
  return report.passes ? 0 : 3
}

/** A contract that the base got after HEAD left it is not here yet, and was not removed. */
async function releasedBefore(
  base: ContractFolder,
  files: ContractFolder,
  { cwd, err }: CommandContext,
  against: string,
  folder: string,
): Promise<ContractFolder['contracts']> {
  const isHere = new Set(files.texts.keys())
  if (base.contracts.every((contract) => isHere.has(contractPath(contract)))) return base.contracts
  const fork = await readForkPaths(cwd, against, folder)
  if (fork === undefined && against.startsWith('git:'))
    err(`git cannot tell where HEAD left ${against}: contracts that it got since then count as removed here.\n`)
  return base.contracts.filter((contract) => {
    const path = contractPath(contract)
    return fork === undefined || fork.has(path) || isHere.has(path)
  })
}

/** Returns the waivers that lie beside the contracts of the base. A list that cannot be read accepts nothing. */
function releasedWaiversOf({ texts }: ContractFolder): readonly ContractWaiver[] {
  try {
    return readWaivers(waiverFile, texts.get(waiverFile) ?? '[]')
  } catch {
    return []
  }
}

async function waiversOf(cwd: string, folder: string, given: string | undefined): Promise<readonly ContractWaiver[]> {
  const path = given ?? join(folder, waiverFile)
  try {
    return readWaivers(path, await readFile(join(cwd, path), 'utf8'))
  } catch (error) {
    if ((error as { code?: unknown }).code !== 'ENOENT') throw error
    if (given === undefined) return []
    throw new StateError(`The file of waivers ${path} does not exist.`, { cause: error })
  }
}
