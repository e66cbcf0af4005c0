# shellcheck shell=sh
# Sourced by the scripts beside it: the folders of the library, and their order.
# shellcheck disable=SC2034  # those that source it use it
library='tensor kernels autograd check ops settings nn optim data stats train'

# allowed FILE: the folders that what a file includes or links with may come from, public headers apart.
allowed() {
    case $1 in
    tensor/*) echo tensor ;;
    kernels/*) echo tensor kernels ;;
    autograd/*) echo tensor kernels autograd ;;
    ops/*) echo tensor kernels autograd ops ;;
    settings/*) echo tensor kernels settings ;;
    nn/*) echo tensor kernels autograd ops settings nn ;;
    check/*) echo tensor kernels autograd settings nn check ;;
    optim/*) echo tensor kernels optim ;;
    data/*) echo tensor kernels data ;;
    stats/*) echo tensor kernels stats ;;
    train/*) echo tensor kernels autograd check ops settings nn optim data stats train ;;
    tools/*) echo tools ;;
    # A suite, or what suites share, may look inside the folder after which its own is named.
    tests/*/*) echo tests "$(allowed "${1#tests/}")" ;;
    tests/*) echo tests ;;
    esac
}
