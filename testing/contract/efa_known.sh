# What is known of the contract suite on libfabric's provider `efa`: what it costs, and filters of GoogleTest. For the scripts that run it
# (efa_contract_test.sh, efa_computers_contract_test.sh, ../systems/contract.sh), which source this.

# Every endpoint takes and clears the pools of its queues, 180 MB at their full depth: most of the suite's work. No behaviour asks
# for more than this, and large pages spare the page faults, which are dear in virtual machines.
export FI_EFA_TX_SIZE=512 FI_EFA_RX_SIZE=512 GLIBC_TUNABLES=glibc.malloc.hugetlb=1

# The folder of the lists.
known=$(dirname "${BASH_SOURCE[0]}")

# Prints the names of a list on standard input that has one a line.
names() { sed -e 's/#.*//' | awk 'NF { printf "%s%s", separator, $1; separator = ":" }'; }

# VERSION FABRIC PROCESSES: prints the behaviours that the provider of this libfabric does not keep on this fabric, where the two ends
# are in so many processes. A line of the list begins with FABRIC/PROCESSES, where * is any. A version that has no list is taken for
# the last one before it that has.
not_kept() {
  local list
  case "$1" in
    1.*) list=$known/efa_1_17_differences.txt ;;
    *) list=$known/efa_2_1_differences.txt ;;
  esac
  sed -e 's/#.*//' "$list" | awk -v fabric="$2" -v processes="$3" '
    NF {
      split($1, run, "/")
      if ((run[1] == "*" || run[1] == fabric) && (run[2] == "*" || run[2] == processes)) {
        print $2
      }
    }' | names
}

# Prints the behaviours that break a rule of EFA on purpose.
breaking() { names <"$known/breaks_rules.txt"; }
