/** An emitter of 'error', like pg and mysql2 connections; without a listener it ends the process. */
export interface ErrorEmitter {
  on(event: 'error', listener: (error: Error) => void): unknown
  removeListener(event: 'error', listener: (error: Error) => void): unknown
}

export interface ErrorWatch {
  /** Returns the error that broke the connection while it was watched. */
  readonly brokenBy: () => Error | undefined
  readonly stop: () => void
}

/** Listens for errors of a connection while it is lent: the pool listens only while it is idle. */
export function watchErrors(connection: ErrorEmitter): ErrorWatch {
  let broken: Error | undefined
  const listener = (error: Error): void => {
    broken ??= error
  }
  connection.on('error', listener)
  return {
    brokenBy: () => broken,
    stop: () => void connection.removeListener('error', listener),
  }
}
