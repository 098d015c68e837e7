/** Where a binding is in its life. See state-machine.ts. */
export type ContainerState = 'CREATED' | 'RUNNING' | 'PAUSED' | 'STOPPED' | 'DESTROYED'

/** What an operator may ask of a binding. */
export type BindingCommand =
  | 'start'
  | 'stop'
  | 'pause'
  | 'resume'
  | 'destroy'
  | 'unregister'
  | 'seek'
  | 'skip'
  | 'reset'
