import { access, mkdir, mkdtemp, rename, rm } from 'node:fs/promises'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { run } from './run.ts'

const version = '22.22.0'

/** The path of an older Node, or the reason why there is none. */
export type OlderNode = { readonly path: string } | { readonly absent: string }

/**
 * Finds Node 22 in the user's cache, or downloads it from the npm registry, which has it as a package without install
 * scripts.
 */
export async function findNode22(): Promise<OlderNode> {
  const home = join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'waybill', `node-${version}`)
  const platform = process.platform === 'win32' ? 'win' : process.platform
  const name = `node-${platform}-${process.arch}`
  const path = join(home, 'node_modules', name, 'bin', process.platform === 'win32' ? 'node.exe' : 'node')
  try {
    if (!(await exists(path))) await download(`${name}@${version}`, home)
    await run(path, ['--version'], home)
    return { path }
  } catch (error) {
    const reason = /npm error code (\S+)/.exec(String(error))?.[1] ?? String(error)
    return { absent: `Node ${version} could not be fetched from the npm registry (${reason}).` }
  }
}

/** Moves a complete download into place, so that concurrent tests never run a partial one. */
async function download(specifier: string, home: string): Promise<void> {
  await mkdir(dirname(home), { recursive: true })
  const unfinished = await mkdtemp(`${home}-`)
  try {
    const alone = ['--no-save', '--ignore-scripts', '--no-audit', '--no-fund']
    const patience = ['--fetch-retries=1', '--fetch-retry-mintimeout=1000']
    await run('npm', ['install', '--prefix', unfinished, ...alone, ...patience, specifier], unfinished, {
      timeoutMs: 240_000,
    })
    await rename(unfinished, home)
  } catch (error) {
    await rm(unfinished, { recursive: true, force: true })
    if (!(await exists(home))) throw error
  }
}

function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  )
}
