import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, join, posix } from 'node:path'
import { ArgumentError, StateError } from '@waybill/core'
import { type ContractFile, contractPath, readContract } from '../file/contract-file.ts'
import { mergeBase, readGitFolder, resolveCommit } from './git-base.ts'

/** The texts of a folder of contracts by their paths inside it, and the contracts among them. */
export interface ContractFolder {
  readonly texts: ReadonlyMap<string, string>
  readonly contracts: readonly ContractFile[]
}

/** Reads a folder of contract files; empty if it does not exist. @throws ArgumentError for a file that is none */
export async function readContractFolder(folder: string): Promise<ContractFolder> {
  const names = await readdir(folder, { recursive: true }).catch((error: unknown) => {
    if (isMissing(error)) return []
    throw new StateError(`The folder ${folder} cannot be read.`, { cause: error })
  })
  const paths = names.map((name) => name.replaceAll('\\', '/')).filter((name) => name.endsWith('.json'))
  const texts = new Map<string, string>()
  for (const path of paths.toSorted()) texts.set(path, await readFile(join(folder, path), 'utf8'))
  return { texts, contracts: contractsIn(texts, folder) }
}

/**
 * Reads the contracts of a base: `git:origin/main` or a folder. A revision may have none.
 *
 * @throws StateError if git does not have the revision, or the folder has no contracts
 */
export async function readBase(cwd: string, base: string, folder: string): Promise<ContractFolder> {
  if (!base.startsWith('git:')) {
    const found = await readContractFolder(join(cwd, base))
    if (found.texts.size > 0) return found
    throw new StateError(`The folder ${base} has no contract files.`, { hint: 'For a revision, write git:REVISION.' })
  }
  const commit = await resolveCommit(cwd, base.slice('git:'.length))
  const texts = await readGitTexts(cwd, commit, folder)
  return { texts, contracts: contractsIn(texts, `${base}:${folder}`) }
}

/**
 * Returns the paths of the contract files at the commit where HEAD left the base; undefined if that is not known. A file that
 * the base got later was not removed here.
 */
export async function readForkPaths(
  cwd: string,
  base: string,
  folder: string,
): Promise<ReadonlySet<string> | undefined> {
  if (!base.startsWith('git:')) return undefined
  const fork = await mergeBase(cwd, await resolveCommit(cwd, base.slice('git:'.length)))
  return fork === undefined ? undefined : new Set((await readGitTexts(cwd, fork, folder)).keys())
}

/** Writes a contract file and its folder. */
export async function writeContractFile(folder: string, path: string, text: string): Promise<void> {
  const place = join(folder, path)
  await mkdir(dirname(place), { recursive: true })
  await writeFile(place, text)
}

async function readGitTexts(cwd: string, commit: string, folder: string): Promise<ReadonlyMap<string, string>> {
  const files = await readGitFolder(cwd, commit, posix.normalize(folder).replace(/\/$/, ''))
  return new Map(Array.from(files, ([path, text]) => [posix.relative(folder, path), text]))
}

const contractName = /^[^/]+\/v[1-9]\d*\.json$/

function contractsIn(texts: ReadonlyMap<string, string>, folder: string): readonly ContractFile[] {
  return [...texts]
    .filter(([path]) => contractName.test(path))
    .map(([path, text]) => {
      const place = posix.join(folder, path)
      const contract = readContract(place, text)
      if (contractPath(contract) === path) return contract
      throw new ArgumentError(`${place} holds the contract of ${contract.event} version ${contract.version}.`, {
        hint: `Move it to ${contractPath(contract)}, or correct its "x-waybill".`,
      })
    })
}

function isMissing(error: unknown): boolean {
  return (error as { code?: unknown } | null)?.code === 'ENOENT'
}
