import { spawn } from 'node:child_process'
import { StateError } from '@waybill/core'

/** Runs git in a folder and returns its output. Rejects with what git printed when it fails. */
export function runGit(cwd: string, args: readonly string[], input = ''): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const git = spawn('git', args, { cwd, stdio: ['pipe', 'pipe', 'pipe'] })
    const [output, complaints]: [Buffer[], Buffer[]] = [[], []]
    git.stdout.on('data', (chunk: Buffer) => output.push(chunk))
    git.stderr.on('data', (chunk: Buffer) => complaints.push(chunk))
    git.on('error', (cause) => reject(new StateError('git could not be started.', { cause, hint: 'Install git.' })))
    // A git that ends early has not read its input; its exit code says why.
    git.stdin.on('error', () => {})
    git.on('close', (code) => {
      const said = Buffer.concat(complaints).toString('utf8').trim()
      if (code === 0) resolve(Buffer.concat(output))
      else reject(new StateError(`git ${args[0] ?? ''} failed: ${said === '' ? `exit code ${code}` : said}.`))
    })
    git.stdin.end(input)
  })
}
