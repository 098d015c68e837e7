import { join } from 'node:path'
import { type ContractFile, contractPath, contractText, isSameUse } from '../file/contract-file.ts'
import { hasSameMeaning } from '../gate/same-meaning.ts'
import { readContractFolder, writeContractFile } from '../repository/contract-folder.ts'
import { contractsOfCatalogs, loadCatalogs } from '../repository/load-catalogs.ts'
import { type Command, type CommandContext, type ExitCode, type GivenOptions, wrongUse } from './command.ts'
import { defaultFolder, sharedOptions } from './contract-options.ts'

/** Writes the contracts of catalogs as files. */
export const writeCommand: Command = {
  name: 'write',
  about: 'writes contract files from event catalogs; files of other versions stay',
  examples: ['waybill-contract write --catalog src/events.ts'],
  options: sharedOptions,
  run: write,
}

async function write({ texts, lists, words }: GivenOptions, context: CommandContext): Promise<ExitCode> {
  const { folder = defaultFolder } = texts
  const paths = lists['catalog'] ?? []
  if (paths.length === 0) return wrongUse(context, 'write needs --catalog, such as --catalog src/events.ts.')
  if (words.length > 0) return wrongUse(context, `write takes options only, not ${words.join(' ')}.`)
  const { cwd, out } = context
  const { contracts: files } = await readContractFolder(join(cwd, folder))
  for (const contract of contractsOfCatalogs(cwd, await loadCatalogs(cwd, paths))) {
    const path = contractPath(contract)
    const earlier = files.find((file) => contractPath(file) === path)
    if (earlier !== undefined && isUpToDate(earlier, contract)) continue
    await writeContractFile(join(cwd, folder), path, contractText(contract))
    out(`${earlier === undefined ? 'written' : 'changed'} ${folder}/${path}\n`)
  }
  return 0
}

/** Another version of a schema library spells schemas in another way: a file that means the same stays as it is. */
function isUpToDate(file: ContractFile, contract: ContractFile): boolean {
  return (
    isSameUse(file, contract) &&
    file.description === contract.description &&
    file.vendor === contract.vendor &&
    hasSameMeaning(file.schema, contract.schema)
  )
}
