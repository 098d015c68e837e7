/** promtool of Prometheus: found on this machine, or unpacked from Debian's package into the cache of the tests. */

import { access, mkdir, mkdtemp, readdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { cacheFolder } from '@waybill/services'
import { type ProgramResult, runProgram } from '@waybill/test-support'

/** Its path, or the reason why there is none. */
export type Promtool = { readonly path: string } | { readonly missing: string }

/** Returns promtool. `PROMTOOL` names another one. */
export async function findPromtool(): Promise<Promtool> {
  const given = process.env['PROMTOOL'] ?? 'promtool'
  if ((await runProgram(given, ['--version'])) !== undefined) return { path: given }
  const folder = join(cacheFolder(), 'prometheus')
  const path = join(folder, 'usr/bin/promtool')
  if (!(await isThere(path))) {
    const failure = await unpack(folder)
    if (failure !== undefined)
      return { missing: `no promtool, and ${failure}. Install it (Debian: apt-get install prometheus)` }
  }
  return { path }
}

/** Runs promtool and returns what it printed. @throws if it found a problem */
export async function runPromtool(path: string, args: readonly string[], cwd: string): Promise<string> {
  const result = (await runProgram(path, args, { cwd })) as ProgramResult
  if (result.code !== 0) throw new Error(`promtool ${args.join(' ')} failed:\n${result.stdout}${result.stderr}`)
  return result.stdout
}

/** Returns the reason of a failure. Needs neither root nor the libraries of the package: promtool is linked statically. */
async function unpack(folder: string): Promise<string | undefined> {
  await mkdir(cacheFolder(), { recursive: true })
  const own = await mkdtemp(join(cacheFolder(), 'prometheus-'))
  try {
    const download = await runProgram('apt-get', ['download', 'prometheus'], { cwd: own })
    if (download === undefined) return 'no apt-get'
    const archive = (await readdir(own)).find((name) => name.endsWith('.deb'))
    if (archive === undefined) return `apt-get download prometheus failed: ${download.stderr.trim().split('\n')[0]}`
    const unpacked = await runProgram('dpkg-deb', ['-x', archive, 'content'], { cwd: own })
    if (unpacked?.code !== 0) return `dpkg-deb failed: ${unpacked?.stderr ?? 'not found'}`
    await rename(join(own, 'content'), folder).catch(async (error: unknown) => {
      // Another run was faster.
      if (!(await isThere(join(folder, 'usr/bin/promtool')))) throw error
    })
    return undefined
  } finally {
    await rm(own, { recursive: true, force: true })
  }
}

async function isThere(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  )
}
