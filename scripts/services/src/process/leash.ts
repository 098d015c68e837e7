import { spawn } from 'node:child_process'

/**
 * Ends processes when this one ends, for any reason. A killed test run cannot clean up itself, so a shell waits on the
 * far end of a pipe, which the system closes with this process.
 *
 * @returns a handle that releases the processes: they then outlive this one.
 */
export function leash(pids: readonly number[], folder: string): Disposable {
  const guard = spawn(
    'sh',
    [
      '-c',
      'read line; folder=$1; shift; kill -9 "$@" 2>/dev/null; sleep 0.2; rm -rf "$folder"',
      'leash',
      folder,
      ...pids.map(String),
    ],
    { detached: true, stdio: ['pipe', 'ignore', 'ignore'] },
  )
  guard.on('error', () => {}) // Without a shell the processes are only unguarded, not unusable.
  guard.stdin.on('error', () => {})
  guard.unref()
  ;(guard.stdin as unknown as { unref?: () => void }).unref?.()
  return {
    [Symbol.dispose]: () => {
      guard.kill('SIGKILL') // Before the pipe closes: the shell must not see that.
      guard.stdin.destroy()
    },
  }
}
