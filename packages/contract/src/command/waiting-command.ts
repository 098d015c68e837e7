import { readFile } from 'node:fs/promises'
import { join, posix } from 'node:path'
import { StateError } from '@waybill/core'
import { checkContracts } from '../gate/check-contracts.ts'
import { type ReportFormat, reportText } from '../report/report-text.ts'
import { readContractFolder } from '../repository/contract-folder.ts'
import { folderInRepository } from '../repository/git-base.ts'
import { loadCatalogs } from '../repository/load-catalogs.ts'
import { checkInventory } from '../waiting/check-inventory.ts'
import { readInventory } from '../waiting/inventory.ts'
import { type Command, type CommandContext, type ExitCode, type GivenOptions, wrongUse } from './command.ts'
import { checkOptions, defaultFolder, sharedOptions } from './contract-options.ts'

/** Checks whether catalogs can read the records that an inventory says wait. */
export const waitingCommand: Command = {
  name: 'waiting',
  about: 'checks that the catalogs can read what waits in retry topics, dead letters and outboxes',
  examples: ['waybill-contract waiting --inventory waiting.json --catalog src/events.ts'],
  options: {
    inventory: {
      type: 'string',
      takes: 'FILE',
      about: 'what waits, as `inventoryOf` of @waybill/contract/waiting writes it',
    },
    format: checkOptions.format,
    strict: checkOptions.strict,
    ...sharedOptions,
  },
  run: check,
}

async function check({ texts, lists, flags, words }: GivenOptions, context: CommandContext): Promise<ExitCode> {
  const { inventory: path, folder = defaultFolder, format = 'text' } = texts
  const paths = lists['catalog'] ?? []
  if (path === undefined) return wrongUse(context, 'waiting needs --inventory, such as --inventory waiting.json.')
  if (paths.length === 0) return wrongUse(context, 'waiting needs --catalog, such as --catalog src/events.ts.')
  if (words.length > 0) return wrongUse(context, `waiting takes options only, not ${words.join(' ')}.`)
  const { cwd, today } = context
  const inventory = readInventory(path, await textOf(join(cwd, path), path))
  const files = await readContractFolder(join(cwd, folder))
  const catalogs = (await loadCatalogs(cwd, paths)).map(({ catalog }) => catalog)
  const others = await checkInventory({ catalogs, contracts: files.contracts, inventory })
  const report = checkContracts({ current: [], against: [], strict: flags.has('strict'), others, today })
  const records = inventory.counts.reduce((sum, { count }) => sum + count, 0)
  const versions = inventory.counts.length
  const what = `${records} waiting ${records === 1 ? 'record' : 'records'} of ${versions} ${versions === 1 ? 'version' : 'versions'}`
  context.err(`${what}, counted at ${inventory.takenAt}\n`)
  const place = posix.normalize(posix.join(await folderInRepository(cwd), folder))
  context.out(reportText({ ...report, compared: inventory.counts.length }, format as ReportFormat, place, files.texts))
  return report.passes ? 0 : 3
}

async function textOf(place: string, path: string): Promise<string> {
  try {
    return await readFile(place, 'utf8')
  } catch (cause) {
    throw new StateError(`The inventory ${path} cannot be read.`, { cause })
  }
}
