import { execFile } from 'node:child_process'

/** How a program is run. */
export interface RunOptions {
  /** @defaultValue 120,000 */
  readonly timeoutMs?: number
  /** Environment variables beside those of this process. */
  readonly environment?: NodeJS.ProcessEnv
}

/** Runs a program to completion and returns its output. A failure contains everything it printed. */
export function run(program: string, args: readonly string[], cwd: string, options: RunOptions = {}): Promise<string> {
  const { timeoutMs: timeout = 120_000, environment = {} } = options
  return new Promise((resolve, reject) => {
    const env = { ...ownEnvironment(), ...environment }
    execFile(program, args, { cwd, env, timeout, maxBuffer: 64 * 1024 * 1024 }, (error, stdout, stderr) => {
      if (error === null) resolve(stdout)
      else reject(new Error(`${program} ${args.join(' ')}\n${stdout}${stderr}`, { cause: error }))
    })
  })
}

/**
 * Removes npm's variables about the current project, because these tests start npm in another one. Also disables the
 * compile cache: each installation is new, so the cache would only cost writes.
 */
function ownEnvironment(): NodeJS.ProcessEnv {
  const ofThisRun =
    /^(npm_config_(local_prefix|workspaces?)|npm_(package|lifecycle)_.*|NODE_(OPTIONS|COMPILE_CACHE)|VITEST.*)$/
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !ofThisRun.test(name)))
}
