/** librdkafka through node-rdkafka: installed into a folder of its own on first use, never a dependency. */

import { execFile } from 'node:child_process'
import { access } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)
const project = join(import.meta.dirname, '..', '..', 'peers', 'librdkafka')
const binding = join(project, 'node_modules', 'node-rdkafka')

/** Installs and builds the client if necessary. Returns the reason why it cannot be used, or undefined. */
export async function prepareLibrdkafka(): Promise<string | undefined> {
  if (await isBuilt()) return undefined
  try {
    await run('pkg-config', ['--exists', 'rdkafka'])
  } catch {
    return 'librdkafka is not installed (on Debian: apt-get install librdkafka-dev pkg-config)'
  }
  try {
    // Links to the installed library instead of building its own.
    const env = { ...process.env, BUILD_LIBRDKAFKA: '0', ...(await headersOfNode()) }
    await run('npm', ['install', '--no-audit', '--no-fund', '--no-package-lock', '--workspaces=false'], {
      cwd: project,
      env,
    })
  } catch (error) {
    return `its client cannot be built: ${lastLineOf(error as Error & { stderr?: string })}`
  }
  return (await isBuilt()) ? undefined : 'its client was installed, but cannot be loaded'
}

/** Loads the client. Its types are not installed with the benchmarks. */
export function loadLibrdkafka(): unknown {
  return createRequire(join(project, 'package.json'))('node-rdkafka')
}

/** Finds the headers beside the Node that runs this, or in the npm package that it came with; else they are downloaded. */
async function headersOfNode(): Promise<{ readonly npm_config_nodedir?: string }> {
  const home = dirname(dirname(process.execPath))
  for (const folder of [home, join(home, 'node_modules', `node-${process.platform}-${process.arch}`)]) {
    if (await exists(join(folder, 'include', 'node', 'node_version.h'))) return { npm_config_nodedir: folder }
  }
  return {}
}

async function exists(path: string): Promise<boolean> {
  try {
    await access(path)
    return true
  } catch {
    return false
  }
}

async function isBuilt(): Promise<boolean> {
  if (!(await exists(join(binding, 'build', 'Release', 'node-librdkafka.node')))) return false
  try {
    loadLibrdkafka()
    return true
  } catch {
    return false // Built for another version of Node.
  }
}

function lastLineOf({ stderr = '', message }: Error & { stderr?: string }): string {
  return stderr.trim().split('\n').at(-1) || message
}
